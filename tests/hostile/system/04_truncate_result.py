"""4. Cut the results off, or delete them."""

import os


def attack(world):
    done = []
    for what, step in (("truncate", lambda: os.truncate(world["result"], 0)), ("unlink", lambda: os.unlink(world["result"]))):
        try:
            step()
            done.append(what)
        except OSError:
            pass
    if not done:
        raise PermissionError
    return done
