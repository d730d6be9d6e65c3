"""Cheap forks for a process that forks often: its memory in few large pages, so that a fork has few entries to copy.

A torch-warm zygote has 130 MB of its own in 33,000 pages; a fork copies an entry for each, and the child's end takes
each away again. Gathered into pages of 2 MB that costs a third, measured with Linux 6.18: 7 ms became 2.

The code that it runs lies in files, and each child finds its way to every page of them anew. What the zygote has run of
it is copied into memory, once for all zygotes, and comes along with a fork: a student's process takes a tenth less.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from grader.sandbox import kernel

HUGE = 2 << 20
"""The usual size. Where it is another one, nothing is gained or lost."""
_ENTRY = 8
"""Bytes that /proc/self/pagemap has for a page; the highest bit says whether this process has the page."""


def gather() -> None:
    """Gather this process's private memory into huge pages, and a copy of the code that it has run.

    Takes about 0.4 s and 130 MB, once. Linux before 6.1 leaves everything as it is. For a process with one thread.
    """
    if not kernel.LINUX:
        return
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        addresses, rights, _, _, inode, *_ = line.split()
        start, end = (int(address, 16) for address in addresses.split("-"))
        start, end = -(-start // HUGE) * HUGE, end // HUGE * HUGE
        with contextlib.suppress(OSError):
            if rights.startswith("rw") and inode == "0" and end > start:
                kernel.collapse(start, end - start)
            elif rights == "r-xp" and inode != "0":
                for address in _used(start, end):
                    _copy_code(address)


def _used(start: int, end: int) -> Iterator[int]:
    """Addresses of the huge pages between these of which this process has used anything. Raises OSError."""
    file = os.open("/proc/self/pagemap", os.O_RDONLY)
    try:
        for address in range(start, end, HUGE):
            entries = os.pread(file, HUGE // mmap.PAGESIZE * _ENTRY, address // mmap.PAGESIZE * _ENTRY)
            if any(last & 0x80 for last in entries[_ENTRY - 1 :: _ENTRY]):
                yield address
    finally:
        os.close(file)


def _copy_code(address: int) -> None:
    """Put a copy, in a huge page, in the place of the code at `address`. It may be running: one step exchanges what is
    the same, and at no time can it be both written and run. Raises OSError; then nothing has changed.
    """
    room = kernel.map_memory(2 * HUGE)
    copy = -(-room // HUGE) * HUGE
    kernel.unmap(room, copy - room)
    kernel.unmap(copy + HUGE, room + HUGE - copy)
    try:
        ctypes.memmove(copy, address, HUGE)
        kernel.collapse(copy, HUGE)
        kernel.make_code(copy, HUGE)
        kernel.move(copy, HUGE, address)
    except OSError:
        kernel.unmap(copy, HUGE)
        raise
