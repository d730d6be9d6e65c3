"""One student's (or group's) work, as intake hands it to a marker. Nothing here executes or compiles it."""

from __future__ import annotations

import functools
import hashlib

from grader.results import Person, Struct, SubmissionInfo


class SourceFile(Struct, frozen=True):
    """A regular file of a submission."""

    path: str
    """Relative POSIX path, as the student named it."""
    data: bytes


class Submission(Struct, frozen=True, kw_only=True, dict=True):
    """The files and the identity of one piece of work. Travels from main to a marker as msgpack."""

    id: str
    """Safe as a file name, unique in the run."""
    files: list[SourceFile]
    people: list[Person] = []
    submitted_at: str = ""
    problem: str = ""
    """Why it can't be read at all, in words that say how to mend it; "" when it can."""
    notes: list[str] = []
    attempt: int = 0
    attempts: int = 0
    former: str = ""
    """All three as in SubmissionInfo."""

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 over the sorted paths and contents: the same work has the same digest wherever it lies."""
        digest = hashlib.sha256()
        for file in sorted(self.files, key=lambda file: file.path):
            for part in (file.path.encode("utf-8", "surrogateescape"), file.data):
                digest.update(len(part).to_bytes(8, "little"))
                digest.update(part)
        return digest.hexdigest()

    def info(self) -> SubmissionInfo:
        return SubmissionInfo(
            id=self.id,
            files=sorted(file.path for file in self.files),
            digest=self.digest,
            people=list(self.people),
            submitted_at=self.submitted_at,
            notes=list(self.notes),
            noted=len(self.notes),
            attempt=self.attempt,
            attempts=self.attempts,
            former=self.former,
        )
