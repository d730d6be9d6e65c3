"""31. Open sockets and files by io_uring, which does the calls inside the kernel.

Even without layers: many kernels and containers refuse io_uring to everybody.
"""

import ctypes


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    ring = libc.syscall(ctypes.c_long(425), 8, ctypes.create_string_buffer(120))
    if ring < 0:
        raise OSError(ctypes.get_errno())
    return ring
