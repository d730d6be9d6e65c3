"""23. List the processes of the machine."""

import os


def attack(world):
    return [name for name in os.listdir("/proc") if name.isdecimal()]
