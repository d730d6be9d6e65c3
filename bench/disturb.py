"""Kill processes of a running command at random: what a machine, its users and its kernel may do at any moment."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The processes below `pid`, nearest first."""
    below: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[0] != "Z":
                below.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found: list[int] = []
    level = [pid]
    while level:
        level = [child for parent in level for child in below.get(parent, [])]
        found += level
    return found


def kill_one(pid: int, dice: random.Random) -> int:
    """SIGKILL one of the processes below `pid`; returns which, or 0 when there was none."""
    there = descendants(pid)
    if not there:
        return 0
    victim = dice.choice(there)
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)
        return victim
    return 0
