"""What intake found: who handed in what, and what became of each input file. Names only, no contents."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.intake.names import path_within
from grader.intake.tree import Folder, Item
from grader.results import Person


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file of a submission: its path there, and where it is read from."""

    path: str
    item: Item


@dataclass(frozen=True, slots=True)
class Entry:
    """One submission, or one person of the roster who handed nothing in."""

    id: str
    """Safe as a file name on every system, unique in the run, the same for the same input."""
    people: tuple[Person, ...]
    files: tuple[FileRef, ...]
    submitted_at: str = ""
    """ISO 8601 with offset, or "" when the source does not say."""
    notes: tuple[str, ...] = ()
    """For staff: other attempts, files left out, lateness that the source marks."""
    problem: str = ""
    """Why there is nothing to grade, as far as names can tell; in words for the student."""
    fault: str = ""
    """Why this machine can't read it, which is no student's doing; for staff."""
    missing: bool = False
    """True for a person of the roster without a submission."""
    attempt: int = 0
    """Which of the attempts this is; 0 when the source does not say."""
    attempts: int = 0
    """How many were handed in."""
    former: str = ""
    """The id that it would have without a roster."""


@dataclass(frozen=True, slots=True)
class Explained:
    """An input that is no submission, and why."""

    path: str
    why: str


@dataclass
class Draft:
    """An Entry in the making: before the roster is joined and ids are given."""

    label: str
    """What the id is made of when the roster does not know better."""
    people: list[Person]
    files: list[FileRef] = field(default_factory=list)
    submitted_at: str = ""
    notes: list[str] = field(default_factory=list)
    problem: str = ""
    fault: str = ""
    junk: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """What had to be left out, each in a sentence."""
    attempt: int = 0
    attempts: int = 0
    foreign_ids: bool = False
    """True when the people's ids are a learning system's own numbers, which no roster knows."""
    lms_ids: list[str] = field(default_factory=list)
    """These numbers, one a person, kept when the roster knows better ids."""

    def take(self, folder: Folder, prefix: str = "") -> None:
        """Add all that the folder holds; what in it was refused becomes a note, or the submission's problem."""
        self.files += [FileRef(path_within([prefix + folder.within(item)]), item) for item in folder.items()]
        for inner in folder.everything():
            self.junk += inner.junk
            for refused in inner.refused:
                where = refused.path[len(folder.path) + 1 :] or inner.name if folder.path else refused.path
                if refused.ours:
                    self.fault = self.fault or refused.why
                elif refused.spoils:
                    self.problem = self.problem or refused.why
                else:
                    self.refused.append(f"{where} was left out. {refused.why}")
                    self.notes.append(self.refused[-1])


@dataclass
class Collected:
    """What a format's module made of a tree. All that it does not mention is explained as lying beside the work."""

    drafts: list[Draft] = field(default_factory=list)
    explained: list[tuple[Item, str]] = field(default_factory=list)
