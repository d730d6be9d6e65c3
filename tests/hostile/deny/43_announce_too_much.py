"""43. Announce an answer of many gigabytes.

Ends as: malformed
"""

import os
import stat
import struct


def channel():
    for descriptor in range(3, 1024):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                return descriptor
        except OSError:
            pass
    raise LookupError


def attack(world):
    os.write(channel(), struct.pack("<IQ", 0xFFFFFFFF, 1 << 60))
    while True:
        pass
