"""35. Sleep for an hour.

Ends as: timeout
"""

import time


def attack(world):
    time.sleep(3600)
