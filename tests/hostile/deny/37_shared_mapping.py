"""37. Fill shared anonymous memory, which limits on data don't count.

Ends as: exception
"""

import mmap


def attack(world):
    kept = []
    while True:
        memory = mmap.mmap(-1, 256 << 20)
        kept.append(memory)
