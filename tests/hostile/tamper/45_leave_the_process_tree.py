"""13, 45. Detach from the grader in a thread, then answer zeros for ever after the verdict.

Worth: 6
"""

import atexit
import os
import threading
import time


def haunt():
    while True:
        time.sleep(0.001)
        try:
            os.setsid()
        except OSError:
            pass


atexit.register(haunt)
threading.Thread(target=haunt, daemon=True).start()


def double(x):
    return x * 0
