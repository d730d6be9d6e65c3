"""A look into a few files, where names alone don't tell one student's files from several students'."""

from __future__ import annotations

import re

from grader.errors import ReadError
from grader.intake.tree import Item, Unreadable
from grader.intake.zips import DAMAGE

_MOST = 1 << 20


def beginning(item: Item) -> bytes:
    """The first megabyte of a file; nothing when it can't be read, which is told when it is read as a submission."""
    try:
        with item.store.open(item.key) as stream:
            return stream.read(_MOST)
    except (Unreadable, ReadError, *DAMAGE):
        return b""


def imports(item: Item, modules: list[str]) -> bool:
    """Whether the file imports each of the modules: then they are parts of one work."""
    text = beginning(item)
    return all(re.search(rb"\b(?:import|from)\s+\.?" + re.escape(module.encode()) + rb"\b", text) for module in modules)


def defines(item: Item, function: str) -> bool:
    """Whether the file writes out a function of this name."""
    return re.search(rb"\bdef\s+" + re.escape(function.encode()) + rb"\b", beginning(item)) is not None
