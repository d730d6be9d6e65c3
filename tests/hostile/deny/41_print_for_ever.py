"""41. Print without end.

Ends as: output
"""


def attack(world):
    while True:
        print("x" * 100000)
