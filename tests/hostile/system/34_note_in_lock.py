"""34. Signal to a run beside this one by locking a file that both can read."""

import fcntl

import torch


def attack(world):
    with open(torch.__file__) as file:
        for way in (
            lambda: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB),
            lambda: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB),
            lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK),
        ):
            try:
                way()
                return "locked"
            except OSError:
                pass
    raise PermissionError
