"""47. Follow a null pointer.

Ends as: crash
"""

import ctypes


def attack(world):
    return ctypes.string_at(0)
