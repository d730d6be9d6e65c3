"""35. Ignore every signal that can be ignored, catch every exception, and go on.

Ends as: timeout
"""

import signal

for _number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(_number, lambda *_: None)


def attack(world):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
