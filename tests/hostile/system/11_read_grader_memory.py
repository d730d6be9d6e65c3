"""11. Read the grader's memory through /proc."""

import os


def attack(world):
    for pid in (world["grader"], os.getppid()):
        try:
            with open(f"/proc/{pid}/mem", "rb") as memory:
                return memory.fileno()
        except OSError:
            pass
    raise PermissionError
