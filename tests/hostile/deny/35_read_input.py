"""35. Wait for somebody to type something.

Ends as: exception
"""


def attack(world):
    return input("Your name? ")
