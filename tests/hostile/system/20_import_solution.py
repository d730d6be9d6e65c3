"""20. Import the hidden checks or the solution as a module."""

import sys


def attack(world):
    sys.path[:0] = [world["solutions"], world["solutions"] + "/attention", world["root"]]
    for name in ("test_hidden", "bounds", "solutions", "misconceptions", "knobs"):
        try:
            module = __import__(name)
        except Exception:
            continue
        if getattr(module, "__file__", None):
            return module.__file__
    raise ImportError
