"""A run directory: one file a result, each written whole or not at all, one run at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.results import SCHEMA, Report, RunInfo, decode

RESULTS, FEEDBACK = "results", "feedback"
DRAFT = ".part"
"""Ending of a file that is being written: unlike any that is read."""
_MOVE = "Move it away or delete it, if nobody needs it; then give the same command again."


def write(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data` in one step. Raises UsageError when the disk or the folder refuses."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    draft = path.with_name(f"{os.getpid()}{DRAFT}")  # a process writes one file at a time
    try:
        draft.write_bytes(raw)
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        if path.is_dir():
            raise UsageError(f"{path} is a folder, and a file has to be written there. {_MOVE}") from None
        if not path.parent.is_dir():
            raise UsageError(f"{path} can't be written: there is no folder {path.parent}. Make it first.") from None
        mend = "Look at the permissions there" if isinstance(error, PermissionError) else "Free some space"
        raise UsageError(
            f"{path} can't be written: {error.strerror}. {mend} or choose another place; the same command goes on "
            "where it stopped."
        ) from None


class RunDirectory:
    """Where one run's files are, and which results are already there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Make the folders. Raises UsageError when that is refused."""
        self.make(RESULTS)
        self.make(FEEDBACK)

    def make(self, name: str) -> None:
        """Make one of its folders, if it is not there. Raises UsageError when that is refused."""
        folder = self.path / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise UsageError(f"{folder} is a file, and a folder has to be there. {_MOVE}") from None
        except OSError as error:
            raise UsageError(f"{folder} can't be made: {error.strerror}. Choose another folder with --out.") from None

    def result(self, submission: str) -> Path:
        return self.path / RESULTS / f"{submission}.json"

    def feedback(self, submission: str, suffix: str) -> Path:
        return self.path / FEEDBACK / f"{submission}{suffix}"

    def remove(self, submission: str) -> None:
        """Take away a result with its pages. A result that is there has its pages, so it goes first."""
        for path in (self.result(submission), self.feedback(submission, ".html"), self.feedback(submission, ".md")):
            path.unlink(missing_ok=True)

    def own(self, name: str) -> Path | None:
        """A file that staff have put into the directory, if it is there."""
        path = self.path / name
        return path if path.is_file() else None

    def load(self, submission: str) -> Report | None:
        """The stored report, or None when there is none that can be read."""
        try:
            return decode(self.result(submission).read_bytes())
        except (OSError, msgspec.DecodeError):
            return None

    def submissions(self) -> list[str]:
        """The ids of all stored results, in order. Raises UsageError when the folder that holds them is gone."""
        if not (self.path / RESULTS).is_dir():
            raise UsageError(f"{self.path / RESULTS} is not a folder, and holds the results of the run. Grade again.")
        return sorted(path.name.removesuffix(".json") for path in (self.path / RESULTS).glob("[!.]*.json"))

    def reports(self) -> Iterator[Report]:
        """Every stored report in the order of their ids. Raises UsageError as `read`."""
        return map(self.read, self.submissions())

    def read(self, submission: str) -> Report:
        """The stored report. Raises UsageError naming the file that can't be read."""
        path = self.result(submission)
        try:
            report = decode(path.read_bytes())
            if report.schema == SCHEMA:
                return report
            reason = f"it has schema {report.schema}, and this version of the grader reads {SCHEMA}"
        except IsADirectoryError:
            raise UsageError(f"{path} is a folder, and a result should be a file. {_MOVE}") from None
        except OSError as error:
            raise UsageError(f"{path} can't be read: {error.strerror}. Look at its permissions.") from None
        except msgspec.DecodeError as error:
            reason = f"it is damaged, or another version of the grader wrote it ({error})"
        raise UsageError(f"{path} can't be used: {reason}. Delete it and grade again.")

    def info(self) -> RunInfo:
        """What the run was. Raises UsageError when `path` is no run directory."""
        path = self.path / "run.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=RunInfo)
        except PermissionError as error:
            raise UsageError(f"{path} can't be read: {error.strerror}. Look at its permissions.") from None
        except OSError:
            if any((self.path / RESULTS).glob("[!.]*.json")):
                raise UsageError(
                    f"The run in {self.path} was stopped before its end: it has results, but no run.json yet. Give the "
                    "same `grader grade` command again first; it goes on where it stopped."
                ) from None
            raise UsageError(
                f"{self.path} is not a run directory: there is no run.json in it. Give the folder that "
                "`grader grade` wrote: the one named by --out, or else runs/ASSIGNMENT."
            ) from None
        except msgspec.DecodeError as error:
            raise UsageError(
                f"{path} can't be used: it is damaged, or another version of the grader wrote it ({error}). "
                "Grade again into this folder; results that still hold are kept."
            ) from None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory for this run, and clear away the drafts of one that was killed.

        Raises UsageError when another run has it, or nothing can be written there.
        """
        try:
            file = (self.path / ".lock").open("w")
        except OSError as error:
            raise UsageError(
                f"Nothing can be written into {self.path}: {error.strerror}. Choose another folder with --out."
            ) from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(
                    f"Another run is writing into {self.path}. Wait for it, or choose another folder with --out."
                ) from None
            for folder in (self.path, self.path / RESULTS, self.path / FEEDBACK):
                for draft in folder.glob(f"*{DRAFT}"):
                    draft.unlink(missing_ok=True)
            yield
