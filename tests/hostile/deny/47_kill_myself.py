"""47. Die of a signal that looks as if the grader had sent it.

Ends as: memory
"""

import os
import signal


def attack(world):
    os.kill(os.getpid(), signal.SIGKILL)
