"""Gather the files of one submission within bounds: how many, how large, and no two that a computer confuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from grader.intake.names import fold
from grader.intake.tree import Item, Unreadable
from grader.intake.wanted import MEGABYTE, Wanted
from grader.intake.zips import DAMAGE, is_zip
from grader.submission import SourceFile

_CHUNK = 1 << 18
_BOMB_SIZE = MEGABYTE
_BOMB_RATIO = 200
"""Text and notebooks pack to a tenth, rarely to a fiftieth."""


class Gathering:
    """The files so far, and what may still come."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.files: list[SourceFile] = []
        self.notes: list[str] = []
        self.refused: list[str] = []
        """What had to be left out, each in a sentence."""
        self.left = wanted.most_in_all
        """Bytes that may still be read."""
        self._paths: set[str] = set()
        self._folders: set[str] = set()
        self._alike: dict[str, str] = {}
        """The first path of those that some computer can't tell apart."""
        self._too_big: list[str] = []

    @property
    def seen(self) -> int:
        """How many files have come, with those that were too large."""
        return len(self._paths)

    def keep(self, path: str, size: int, opened: Callable[[], BinaryIO], item: Item | None = None) -> None:
        """Read one file. What is wrong with it is a note, except with code or a name: then it raises Unreadable."""
        code = self.wanted.code_name(path)
        if code.lower() != path.lower() and fold(code) in self._alike:
            code = ""  # "attention.py.txt" beside "attention.py" is carried as the text that it is
        most = self.wanted.most_of(code or path)
        self._claim(path, code)
        if size > most:
            self._too_large(path, size, most, code, item)
            return
        try:
            if item is not None and item.defect:
                raise Unreadable(item.defect)
            data = self.pour(opened, path, most)
        except Unreadable as reason:
            if code:
                raise
            self.leave_out(path, str(reason))
            return
        if code and is_zip(data):
            raise Unreadable(f"{path} is really a zip archive. Call it .zip, or hand in the file that is in it.")
        if code and code.lower() != path.lower():
            self.notes.append(f"{path} was read as {code}.")
        self.files.append(SourceFile(code or path, data))

    def pour(self, opened: Callable[[], BinaryIO], path: str, most: int) -> bytes:
        """All bytes of one stream. Raises Unreadable for more than `most`, or than is left for the submission."""
        pieces: list[bytes] = []
        count = 0
        bound = min(most, self.left)
        try:
            with opened() as stream:
                while piece := stream.read(_CHUNK):
                    count += len(piece)
                    if count > bound:
                        raise Unreadable(self._too_much(path, most))
                    pieces.append(piece)
        except DAMAGE:
            self.notes.append(f"{path} is damaged. If it came in a download, download that again first.")
            raise Unreadable(f"{path} is damaged and can't be read to its end. Hand it in again.") from None
        self.left -= count
        return b"".join(pieces)

    def leave_out(self, path: str, why: str) -> None:
        """Note that a file is not taken. Where nothing else came, it is what the student is told."""
        self.refused.append(f"{path} was left out. {why}")
        self.notes.append(self.refused[-1])

    def attempt(self, path: str, step: Callable[[], None]) -> None:
        """Add what an archive holds, in one step. If that fails, and there is code without it, it is left out."""
        count, taken = len(self.files), (set(self._paths), set(self._folders), dict(self._alike))
        try:
            step()
        except Unreadable as reason:
            if not self._has_code(count):
                raise
            del self.files[count:]
            self._paths, self._folders, self._alike = taken
            self.notes.append(f"{path} was left out. {reason}")
        beside = {(file.path.rpartition("/")[2], file.data) for file in self.files[:count]}
        packed = self.files[count:]
        if packed and all((file.path.rpartition("/")[2], file.data) in beside for file in packed):
            del self.files[count:]  # students hand in a zip beside what they packed in it
            self.notes.append(f"{path} holds the same files as those beside it, which were read.")

    def check(self) -> None:
        """Raises Unreadable when nothing that came can hold code."""
        if not self._has_code(len(self.files)):
            names = [file.path for file in self.files] + self._too_big
            raise Unreadable(self.wanted.nothing_usable(names, [], self.refused))

    def _has_code(self, count: int) -> bool:
        """Whether there is code among the first so many files."""
        return any(self.wanted.code_name(file.path) for file in self.files[:count])

    def _claim(self, path: str, code: str) -> None:
        """Note that a path is taken, as the code that it is read as. Raises Unreadable when it is taken already, for
        two pieces of code that a computer can't tell apart, or for too many. Data only has to be found by its name.
        """
        final = code or path
        first = self._alike.setdefault(fold(final), path)
        if final in self._paths or (code and first != path):
            which = f"two files named {path}"
            if first != path:
                which = f"both {first} and {path}, which many computers can't tell apart"
            raise Unreadable(
                f"There are {which}, so it is not clear which one counts. Keep one of them and hand it in again."
            )
        if first != path:
            self.notes.append(f"{first} and {path} were both read; many computers can't tell these names apart.")
        self._paths.add(final)
        steps = final.split("/")
        above = {"/".join(steps[:depth]) for depth in range(1, len(steps))}
        self._folders |= above
        if final in self._folders or above & self._paths:
            raise Unreadable(f"{path} is the name of a file and of a folder at once. Rename one of them.")
        if len(self._paths) > self.wanted.most_files:
            raise Unreadable(
                f"There are more than {self.wanted.most_files} files. "
                f"Hand in only your own work: {self.wanted.request}."
            )

    def _too_large(self, path: str, size: int, most: int, code: str, item: Item | None) -> None:
        words = f"{path} has {size / MEGABYTE:.0f} MB; at most {most // MEGABYTE} MB are read"
        if not code:
            self._too_big.append(path)
            self.notes.append(f"{words}, so it was left out.")
            return
        if item is not None:
            refuse_bomb(path, item)
        mend = "clear its saved outputs" if code.endswith(".ipynb") else "hand in the code without data"
        raise Unreadable(f"{words}. To mend it, {mend}, save, and hand it in again.")

    def _too_much(self, path: str, most: int) -> str:
        what, limit = (path, most) if most <= self.left else ("All files together", self.wanted.most_in_all)
        return (
            f"{what} would be more than {limit // MEGABYTE} MB, and no more is read. "
            "Hand in only your own code, without data."
        )


def refuse_bomb(path: str, item: Item) -> None:
    """Raises Unreadable for what grows far more than honest work does. The caps hold anyway; this says why."""
    if item.packed and item.size > max(_BOMB_SIZE, _BOMB_RATIO * item.packed):
        raise Unreadable(
            f"{path} would unpack to {item.size / MEGABYTE:.0f} MB, more than {_BOMB_RATIO} times its packed size. "
            "No honest code does that. Hand in only your own code."
        )
