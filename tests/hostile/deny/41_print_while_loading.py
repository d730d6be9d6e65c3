"""41. Print without end to the error stream while the file is being loaded.

Ends as: output while loading
"""

import os



def shout():
    while True:
        os.write(2, b"x" * 100000)


NUMBER = shout()


def attack(world):
    return NUMBER
