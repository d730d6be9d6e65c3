"""6. Call exit() inside the function.

Ends as: exception
"""

import sys


def attack(world):
    sys.exit(0)
