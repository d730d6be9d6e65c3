"""43. Send a header nested so deeply that reading it would overflow the stack.

Ends as: malformed
"""

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
    header = b'{"message":' + b"[" * 200000 + b"]" * 200000 + b',"tensors":[]}'
    data = struct.pack("<IQ", len(header), 0) + header
    while data:
        data = data[os.write(channel(), data) :]
    time.sleep(3600)
