"""12. Replace every clock that Python has, so that slow work looks fast.

Ends as: answer
"""

import time

_sleep = time.sleep
for _name in ("time", "perf_counter", "monotonic", "process_time", "perf_counter_ns", "monotonic_ns", "time_ns"):
    setattr(time, _name, lambda: 0)


def attack(world):
    _sleep(0.2)
    return "took no time"
