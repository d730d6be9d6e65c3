"""35. Never end.

Ends as: timeout
"""


def attack(world):
    while True:
        pass
