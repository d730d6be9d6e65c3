"""4. Open the results up to everybody, or give them away, for a later run to change."""

import os


def attack(world):
    done = []
    steps = {
        "chmod": lambda: os.chmod(world["result"], 0o666),
        "chown": lambda: os.chown(world["result"], os.getuid(), -1),
        "times": lambda: os.utime(world["result"], (1, 1)),
        "attribute": lambda: os.setxattr(world["result"], "user.note", b"1"),
        "link": lambda: os.link(world["result"], world["result"] + ".link"),
        "symbolic link": lambda: os.symlink(world["secret"], world["result"] + ".symlink"),
    }
    for what, step in steps.items():
        try:
            step()
            done.append(what)
        except OSError:
            pass
    if not done:
        raise PermissionError
    return done
