"""43. Send a forged answer whose tensor has more elements than there are bytes.

Ends as: malformed
"""

import json
import os
import stat
import struct
import time


def channel():
    for descriptor in range(3, 1024):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                return descriptor
        except OSError:
            pass
    raise LookupError


def attack(world):
    message = {"outputs": 1, "output": {"t": 0}, "after": [], "gradients": None, "ops": {}, "largest": 0}
    header = json.dumps({"message": message, "tensors": [["float32", [1 << 20, 1 << 20], [1, 1], "cpu", False]]}).encode()
    os.write(channel(), struct.pack("<IQ", len(header), 4) + header + b"1234")
    time.sleep(3600)
