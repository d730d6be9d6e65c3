"""47. Overflow the stack of C.

Ends as: crash
"""

import sys


def attack(world):
    sys.setrecursionlimit(1 << 30)

    class Nested:
        def __getattr__(self, name):
            return getattr(self, name + "x")

    return Nested().x
