"""Cheap forks for a process that forks often: its memory in few large pages, so that a fork has few entries to copy.

A torch-warm zygote has 130 MB of its own in 33,000 pages; a fork copies an entry for each, and the child's end takes
each away again. Gathered into pages of 2 MB that costs a third, measured with Linux 6.18: 7 ms became 2.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from grader.sandbox import kernel

HUGE = 2 << 20
"""The usual size. Where it is another one, nothing is gained or lost."""


def gather() -> None:
    """Gather this process's private memory into huge pages: takes about 0.3 s, once. Linux before 6.1 leaves it."""
    if not kernel.LINUX:
        return
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        addresses, rights, _, _, inode, *_ = line.split()
        if not rights.startswith("rw") or inode != "0":
            continue
        start, end = (int(address, 16) for address in addresses.split("-"))
        start, end = -(-start // HUGE) * HUGE, end // HUGE * HUGE
        if end > start:
            with contextlib.suppress(OSError):
                kernel.collapse(start, end - start)
