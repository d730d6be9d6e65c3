"""35. Recurse for ever.

Ends as: exception
"""


def attack(world):
    return attack(world)
