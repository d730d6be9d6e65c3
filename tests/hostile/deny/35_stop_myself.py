"""35. Stop this process, so that it neither works nor ends.

Ends as: timeout
"""

import os
import signal


def attack(world):
    os.kill(os.getpid(), signal.SIGSTOP)
