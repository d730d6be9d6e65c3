"""16. Change the grader's priority, limits and processors."""

import os
import resource


def attack(world):
    pid = world["grader"]
    steps = {
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid)),
        "limits": lambda: resource.prlimit(pid, resource.RLIMIT_CPU, resource.prlimit(pid, resource.RLIMIT_CPU)),
        "processors": lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid)),
        "scheduler": lambda: os.sched_setscheduler(pid, os.sched_getscheduler(pid), os.sched_param(0)),
    }
    done = []
    for what, step in steps.items():
        try:
            step()
            done.append(what)
        except (OSError, ValueError):
            pass
    if not done:
        raise PermissionError
    return done
