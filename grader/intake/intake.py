"""The result of looking through what was handed in, and the way to the contents of each submission."""

from __future__ import annotations

from types import TracebackType

from grader.intake import reading
from grader.intake.entry import Entry, Explained
from grader.intake.inputs import Input
from grader.intake.wanted import Wanted
from grader.submission import Submission


class Intake:
    """What was found. Holds names only; `read` fetches the contents of one entry at a time."""

    def __init__(
        self,
        entries: list[Entry],
        junk: list[str],
        explained: list[Explained],
        understood: list[str],
        wanted: Wanted,
        inputs: list[Input],
    ) -> None:
        self.entries = entries
        self.junk = junk
        """Files that computers make by themselves; one ending in "/" stands for all that it holds."""
        self.explained = explained
        """Input files that are no part of a submission, each with why."""
        self.understood = understood
        """For staff: as what each path was taken."""
        self._wanted = wanted
        self._inputs = inputs

    def read(self, entry: Entry) -> Submission:
        """The entry with its contents. What can't be read becomes the submission's `problem`.

        Raises ReadError when this machine, not the student, keeps it from being read.
        """
        return reading.read(entry, self._wanted)

    def close(self) -> None:
        """Close the archives; nothing in them can be read afterwards."""
        for opened in self._inputs:
            if opened.zip is not None:
                opened.zip.close()

    def __enter__(self) -> Intake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
