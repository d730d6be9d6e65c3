"""11. Attach to the grader as a debugger."""

import ctypes
import os


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in (world["grader"], os.getppid()):
        if libc.ptrace(0x4206, pid, None, None) == 0:  # PTRACE_SEIZE: does not stop it
            libc.ptrace(17, pid, None, None)  # PTRACE_DETACH
            return pid
    raise PermissionError
