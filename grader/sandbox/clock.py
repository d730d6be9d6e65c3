"""A clock that stands still while a process could run but gets no processor: a busy machine costs nobody a mark."""

from __future__ import annotations

import os
import time
from pathlib import Path

MOST = 4.0
"""How often the time that counts may pass again as waiting. A process can make itself wait, with threads of its own."""


class Clock:
    """The time that a process took, from now on, without what it and this one stood in line for a processor.

    Where the kernel does not tell (no schedstat), all time counts.
    """

    def __init__(self, pid: int) -> None:
        self._pids = (pid, os.getpid())
        self._started = time.monotonic()
        self._before = [_waited(pid) for pid in self._pids]
        self._stood = 0.0

    def spent(self) -> float:
        """Seconds that count so far."""
        real = time.monotonic() - self._started
        stood = sum(max(0.0, _waited(pid) - before) for pid, before in zip(self._pids, self._before, strict=True))
        self._stood = max(self._stood, stood)  # a process that has ended no longer tells
        return max(real - self._stood, real / (1 + MOST))


def _waited(pid: int) -> float:
    """Seconds that the process's main thread was ready to run and did not."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
