"""Kill processes of a running command at random, as machines and people do, and compare what comes of it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
from pathlib import Path
from typing import Any

from grader.places.processes import descendants


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


def everything(out: Path) -> dict[str, Any]:
    """All that a run directory says of students, by file name, without what tells the time."""
    found: dict[str, Any] = {"grades.csv": (out / "grades.csv").read_bytes()}
    for path in (out / "results").iterdir():
        found[path.name] = without_times(json.loads(path.read_bytes()))
    for path in (out / "feedback").iterdir():
        found[path.name] = path.read_bytes()
    return found


def without_times(value: Any) -> Any:
    """The value without any `seconds`."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key != "seconds"}
    return [without_times(one) for one in value] if isinstance(value, list) else value
