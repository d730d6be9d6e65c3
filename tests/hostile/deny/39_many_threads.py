"""39. Start threads until no more can be started.

Ends as: answer
"""

import threading
import time


def attack(world):
    count = 0
    threading.stack_size(64 << 10)
    try:
        while count < 2000:
            threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
            count += 1
    except RuntimeError:
        pass
    return count
