"""From source to a callable: what is looked for, what is compiled, and what loading it gave. No torch here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from grader.results import Place, Struct


class Entry(Struct, frozen=True, kw_only=True):
    """What is called: the function's name and how it is called and answers (from `assignment.toml`)."""

    function: str
    arguments: list[str]
    """Parameters as written in a signature: ["Q", "K", "V", "mask=None"]."""
    returns: list[str]
    """Names of the returned values in order: ["output", "weights"]; one name means a lone value."""
    aliases: list[str] = []
    """Other names under which it is searched for, to explain rather than to accept."""

    def takes(self, positional: int, named: Collection[str]) -> bool:
        """Whether so many arguments by position, and these by name, are what the function is called with."""
        left = self.arguments[positional:]
        known = {argument.partition("=")[0].strip() for argument in left}
        needed = {argument.strip() for argument in left if "=" not in argument}
        return positional <= len(self.arguments) and needed <= set(named) <= known


class Unit(Struct, frozen=True):
    """A piece of source that is compiled by itself: a whole .py file or one code cell of a notebook."""

    file: str
    cell: int | None
    """1-based position among all cells of the notebook, None for a .py file."""
    source: str


class Problem(Struct, frozen=True, kw_only=True):
    """Something in the student's work that kept (part of) it from loading. Data, not an exception."""

    kind: str
    """"syntax", "tabs", "missing_package", "exception", "timeout", "memory", "output", "crash", "no_code",
    "no_function", "unreadable", "stub"."""
    message: str
    """Authored words: what, where, how to mend it."""
    place: Place | None = None
    detail: str = ""
    """The student's exception text; for staff."""


class Found(Struct, frozen=True, kw_only=True):
    """A callable that the loader found in the student's work."""

    name: str
    kind: Literal["function", "class", "instance"]
    parameters: list[str]
    """As written: "Q", "mask=None", "*rest", "**options", "/", "*". Unknown: ["?"]."""
    stub: bool
    """True when its body is only a docstring, pass, ..., or raise NotImplementedError."""
    place: Place | None = None


class Loaded(Struct, frozen=True, kw_only=True):
    """What loading a submission gave."""

    entry: Found | None
    """The function that will be called; None when there is none under the right name."""
    others: list[Found] = []
    """Other candidates, likeliest first: for explaining "you named it ..."."""
    problems: list[Problem] = []
    """What failed on the way; the entry may be there all the same (one bad cell does not lose the rest)."""
    notes: list[str] = []
    """What was left out, in words: magics, shell lines, a training loop that was not needed."""
    banned: list[Place] = []
    """Lines that name something which the assignment forbids (the library's own attention)."""
    partial: bool = False
    """Statements were left alone that importing the file would run: nothing that the function names seemed to need
    them. Where the function does not work so, `whole` runs them too."""
    seconds: float = 0.0
