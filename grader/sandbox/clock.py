"""A clock that stands still while a process could run but gets no processor: a busy machine costs nobody a mark."""

from __future__ import annotations

import contextlib
import os
import time

MOST = 4.0
"""How often the time that counts may pass again as waiting. A process can make itself wait, with threads of its own."""


class Clock:
    """The time that a process takes, without what it and this one stand in line for a processor.

    Where the kernel does not tell (no schedstat), all time counts. Holds descriptors until `close`.
    """

    def __init__(self, pid: int) -> None:
        self._files: list[int] = []
        for process in (pid, os.getpid()):
            with contextlib.suppress(OSError):
                self._files.append(os.open(f"/proc/{process}/schedstat", os.O_RDONLY))
        self.start()

    def start(self) -> None:
        """Count from now on."""
        self._started = time.monotonic()
        self._before = [_waited(file) for file in self._files]
        self._stood = 0.0

    def spent(self) -> float:
        """Seconds that count so far."""
        return self._counted(time.monotonic(), [_waited(file) for file in self._files])

    def lap(self) -> float:
        """Seconds that counted so far, and count from now on."""
        now, waited = time.monotonic(), [_waited(file) for file in self._files]
        spent = self._counted(now, waited)
        self._started, self._before, self._stood = now, waited, 0.0
        return spent

    def _counted(self, now: float, waited: list[float]) -> float:
        real = now - self._started
        stood = sum(max(0.0, after - before) for after, before in zip(waited, self._before, strict=True))
        self._stood = max(self._stood, stood)  # a process that has ended no longer tells
        return max(real - self._stood, real / (1 + MOST))

    def close(self) -> None:
        """Give the descriptors back."""
        while self._files:
            os.close(self._files.pop())


def _waited(file: int) -> float:
    """Seconds that the process's main thread was ready to run and did not."""
    try:
        return int(os.pread(file, 100, 0).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
