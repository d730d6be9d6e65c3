"""19. Go back to being root from a half-dropped user."""

import ctypes
import os


def attack(world):
    libc = ctypes.CDLL(None, use_errno=True)
    for step in (
        lambda: os.setuid(0),
        lambda: os.setresuid(0, 0, 0),
        lambda: os.seteuid(0),
        lambda: os.setgid(0),
        lambda: os.setgroups([0]),
        lambda: libc.setfsuid(0) == 0 and libc.setfsuid(0) == 0 or os.setuid(0),
    ):
        try:
            step()
        except OSError:
            continue
        if 0 in (os.getuid(), os.geteuid(), os.getegid()):
            return os.getresuid()
    raise PermissionError
