"""38. Become another program."""

import os


def attack(world):
    os.execv("/bin/sh", ["sh", "-c", f"echo ran > /tmp/{world['word']}-ran"])
