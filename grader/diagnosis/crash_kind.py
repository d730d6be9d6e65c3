"""What a kind of crash is: how it is recognised and the words for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of crash. `message` and `line` are regular expressions that must be found."""

    id: str
    family: str
    """Kinds that differ by the student's line only share a family."""
    types: tuple[str, ...]
    """Class names of the exceptions."""
    message: str = ""
    title: str
    explanation: str
    hint: str
    """{import} stands for the missing line, {arguments} for the assignment's arguments."""
    line: str = ""
