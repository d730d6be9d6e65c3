"""37. Make a file in memory that no limit on data counts, and that could be run as a program."""

import os


def attack(world):
    return os.memfd_create(world["word"])
