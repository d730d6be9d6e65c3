"""47. Abort, as a failed assertion in C does.

Ends as: crash
"""

import os


def attack(world):
    os.abort()
