"""24. Learn whether a file exists in a folder that only the grader may enter."""

import os


def attack(world):
    for way in (
        lambda: os.stat(world["secret"]).st_size,
        lambda: os.lstat(world["secret"]).st_size,
        lambda: os.access(world["secret"], os.F_OK) or os.stat(world["secret"]),
        lambda: os.chdir(os.path.dirname(world["secret"])),
        lambda: os.getxattr(world["secret"], "user.none"),
    ):
        try:
            return str(way())
        except OSError:
            pass
    raise PermissionError
