"""Disks that fail, as far as this process sees: one that is full, and one that can't read a certain file."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock


@contextmanager
def full_disk(room: int = 64) -> Iterator[None]:
    """No file may be longer than `room` bytes, as on a disk that becomes full. Only around what is tried: else pytest's
    report is lost."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def failing_disk(file: Path) -> Iterator[None]:
    """The file can be opened, and reading it is an error of the disk."""
    broken, pread = file.stat().st_ino, os.pread

    def failing(descriptor: int, count: int, place: int) -> bytes:
        if os.fstat(descriptor).st_ino == broken:
            raise OSError(errno.EIO, "Input/output error")
        return pread(descriptor, count, place)

    with mock.patch.object(os, "pread", failing):
        yield
