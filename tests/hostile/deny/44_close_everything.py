"""44. Close the channel and live on.

Ends as: closed
"""

import os
import time


def attack(world):
    os.closerange(0, 1024)
    time.sleep(3600)
