"""39. Open files until no more can be opened.

Ends as: answer
"""

import os


def attack(world):
    count = 0
    try:
        while count < 5000:
            os.dup(1)
            count += 1
    except OSError:
        pass
    return count
