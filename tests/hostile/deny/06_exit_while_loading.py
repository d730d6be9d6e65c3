"""6. Leave with exit status 0 while the file is being loaded.

Ends as: closed while loading
"""

import os

STATUS = os._exit(0)


def attack(world):
    return STATUS
