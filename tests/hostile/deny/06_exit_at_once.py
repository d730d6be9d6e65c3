"""6. Leave with exit status 0 before anything was computed.

Ends as: closed
"""

import os


def attack(world):
    os._exit(0)
