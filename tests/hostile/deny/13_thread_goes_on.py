"""13. Start threads and an exit handler that act after the answer was given.

Ends as: answer
"""

import atexit
import threading
import time


def later(world):
    while True:
        time.sleep(0.01)
        try:
            with open(world["result"], "w") as file:
                file.write("100")
        except OSError:
            pass


def attack(world):
    atexit.register(later, world)
    for daemon in (True, False):
        threading.Thread(target=later, args=(world,), daemon=daemon).start()
    return "wait for it"
