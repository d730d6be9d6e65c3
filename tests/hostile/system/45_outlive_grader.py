"""45. Undo what ties this process to its parent: the signal at its death, its session, its name to debuggers."""

import ctypes
import os


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    if libc.prctl(1, 0, 0, 0, 0) == 0:  # PR_SET_PDEATHSIG
        done.append("death signal")
    if libc.prctl(4, 1, 0, 0, 0) == 0:  # PR_SET_DUMPABLE
        done.append("dumpable")
    if libc.prctl(36, 1, 0, 0, 0) == 0:  # PR_SET_CHILD_SUBREAPER
        done.append("subreaper")
    try:
        os.setpgid(0, os.getpgid(os.getppid()))
        done.append("group")
    except OSError:
        pass
    if not done:
        raise PermissionError
    return done
