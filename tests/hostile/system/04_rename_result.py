"""4. Put another file in the place of the results."""

import os


def attack(world):
    forged = world["result"] + ".forged"
    os.rename(world["result"], forged)
    with open(world["result"], "w") as file:
        file.write('{"score": 100}')
    return "replaced"
