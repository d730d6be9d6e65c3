"""36. Fill the memory with small objects.

Ends as: memory
"""


def attack(world):
    kept = []
    while True:
        kept.append(bytearray(1 << 22))
