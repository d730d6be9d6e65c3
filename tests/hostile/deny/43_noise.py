"""43. Send noise where an answer is expected.

Ends as: malformed
"""

import os
import stat
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
    os.write(channel(), bytes(range(4)) + bytes(8) + os.urandom(1 << 20))
    time.sleep(3600)
