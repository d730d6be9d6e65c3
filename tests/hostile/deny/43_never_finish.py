"""43. Begin an answer and never end it.

Ends as: timeout
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
    os.write(channel(), struct.pack("<IQ", 1000, 1000) + b"{")
    time.sleep(3600)
