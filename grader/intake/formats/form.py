"""What a format is to the rest of intake, and what the formats share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.intake.entry import Collected
from grader.intake.roster import Roster
from grader.intake.tree import Folder
from grader.intake.wanted import Wanted


@dataclass(frozen=True)
class Format:
    """One form in which submissions arrive."""

    name: str
    """As `--from` takes it."""
    title: str
    """As it is told to staff: "This is ..."."""
    recognise: Callable[[Folder, Wanted, Roster], Folder | None]
    """The folder of the tree in which the format's own names stand, or None when it is not this format."""
    collect: Callable[[Folder, Wanted, Roster], Collected]
    """The submissions in that folder."""
    otherwise: Callable[[Folder], Folder] = lambda root: root
    """The folder to collect from when the format is not recognised but asked for."""


def levels(root: Folder) -> list[Folder]:
    """The root, and the folders below it as long as each is the only thing in the one above."""
    found = [root]
    while not found[-1].files and len(found[-1].folders) == 1:
        found.append(next(iter(found[-1].folders.values())))
    return found
