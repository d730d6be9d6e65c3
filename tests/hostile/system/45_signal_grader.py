"""45. Signal the grader, its zygote, and everything that can be reached."""

import os


def attack(world):
    for pid in (world["grader"], os.getppid(), -1, 1, 0):
        try:
            os.kill(pid, 0)  # only asks whether a signal would arrive
            return pid
        except OSError:
            pass
    raise PermissionError
