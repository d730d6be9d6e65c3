"""34. Leave a note in the kernel's keyring.

Even without layers: kernels may be built without keyrings, and containers refuse them.
"""

import ctypes
import platform


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 248, "aarch64": 217}[platform.machine()]
    key = libc.syscall(ctypes.c_long(number), b"user", world["word"].encode(), b"note", ctypes.c_long(4), ctypes.c_long(-4))
    if key < 0:
        raise OSError(ctypes.get_errno())
    return key
