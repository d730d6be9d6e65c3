"""23. Read the grader's command line, environment, open files and root folder in /proc."""

import os


def attack(world):
    for pid in (world["grader"], os.getppid(), 1):
        for way in (
            lambda pid: open(f"/proc/{pid}/environ").read(),
            lambda pid: open(f"/proc/{pid}/cmdline").read(),
            lambda pid: open(f"/proc/{pid}/maps").read(),
            lambda pid: os.listdir(f"/proc/{pid}/fd"),
            lambda pid: os.listdir(f"/proc/{pid}/root/"),
            lambda pid: os.listdir(f"/proc/{pid}/cwd/"),
            lambda pid: open(f"/proc/{pid}/status").read(),
        ):
            try:
                return pid, str(way(pid))[:200]
            except OSError:
                pass
    raise PermissionError
