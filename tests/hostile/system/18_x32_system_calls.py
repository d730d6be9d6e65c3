"""18. Call the kernel by the x32 numbers, which name the same calls as others.

Even without layers: most kernels are built without the x32 numbers.
"""

import ctypes
import os
import platform


def attack(world):
    if platform.machine() != "x86_64":
        raise NotImplementedError
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(0x40000000 + 39)) != os.getpid():
        raise OSError
    return "answered"
