"""A run directory: one file a result, each written whole or not at all, one run at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.results import Report, RunInfo, decode

RESULTS, FEEDBACK = "results", "feedback"
DRAFT = ".part"
"""Ending of a file that is being written: unlike any that is read."""


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
        raise UsageError(
            f"{path} can't be written: {error.strerror}. Free some space or choose another folder with --out; "
            "the same command goes on where it stopped."
        ) from None


class RunDirectory:
    """Where one run's files are, and which results are already there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Make the folders. Raises UsageError when that is refused."""
        try:
            for name in (RESULTS, FEEDBACK):
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{self.path} can't be made: {error.strerror}. Choose another folder with --out."
            ) from None

    def result(self, submission: str) -> Path:
        return self.path / RESULTS / f"{submission}.json"

    def feedback(self, submission: str, suffix: str) -> Path:
        return self.path / FEEDBACK / f"{submission}{suffix}"

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
        """The ids of all stored results, in order."""
        return sorted(path.name.removesuffix(".json") for path in (self.path / RESULTS).glob("[!.]*.json"))

    def reports(self) -> Iterator[Report]:
        """Every stored report in the order of their ids. Raises UsageError naming a file that can't be read."""
        for path in sorted((self.path / RESULTS).glob("[!.]*.json")):
            try:
                yield decode(path.read_bytes())
            except (OSError, msgspec.DecodeError) as error:
                raise UsageError(f"{path} can't be read: {error}. Delete it and grade again.") from None

    def info(self) -> RunInfo:
        """What the run was. Raises UsageError when `path` is no run directory."""
        path = self.path / "run.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=RunInfo)
        except OSError:
            raise UsageError(
                f"{self.path} is not a run directory: there is no run.json in it. Give the folder that "
                "`grader grade` wrote: the one named by --out, or else runs/ASSIGNMENT."
            ) from None
        except msgspec.DecodeError as error:
            raise UsageError(f"{path} can't be read: {error}.") from None

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
