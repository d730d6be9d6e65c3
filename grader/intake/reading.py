"""From an entry to its Submission: contents are read here, within bounds, and archives are looked into."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO

from grader.intake import tars, zips
from grader.intake.disk import LINK, SPECIAL
from grader.intake.entry import Entry, FileRef
from grader.intake.junk import junk_within
from grader.intake.names import RefusedName, fold, listed, parts, path_within, visible
from grader.intake.tree import Item, Unreadable
from grader.intake.wanted import MEGABYTE, Wanted, is_archive
from grader.submission import SourceFile, Submission

_CHUNK = 1 << 18
_MOST_ARCHIVES_DEEP = 2
_LIST_MB = 4
_BOMB_SIZE = MEGABYTE
_BOMB_RATIO = 200
"""Text and notebooks pack to a tenth, rarely to a fiftieth."""


def read(entry: Entry, wanted: Wanted) -> Submission:
    """The entry with its contents. Never raises for what a student did: that becomes the submission's problem."""
    reader = _Reader(wanted)
    problem = entry.problem
    if not problem:
        try:
            # Archives come last, so that what is in them and lies beside them too is read once.
            for reference in sorted(entry.files, key=lambda reference: is_archive(reference.path)):
                reader.add(reference, alone=len(entry.files) == 1)
            reader.check()
        except Unreadable as reason:
            problem = str(reason)
    return Submission(
        id=entry.id,
        files=[] if problem else reader.files,
        people=list(entry.people),
        submitted_at=entry.submitted_at,
        problem=problem,
        notes=[*entry.notes, *reader.notes],
    )


class _Reader:
    """Gathers the files of one submission and keeps count of what may still come."""

    def __init__(self, wanted: Wanted) -> None:
        self.files: list[SourceFile] = []
        self.notes: list[str] = []
        self._wanted = wanted
        self._left = wanted.most_in_all
        self._paths: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._too_big: list[str] = []
        self._refused: list[str] = []

    def add(self, reference: FileRef, alone: bool) -> None:
        """Read a file, or what an archive holds. Raises Unreadable."""
        self._add_item(reference.path, reference.item, "" if alone else f"{reference.path}/", depth=0)

    def _add_item(self, path: str, item: Item, prefix: str, depth: int) -> None:
        """Read one file; the contents of an archive get `prefix` before their paths."""
        if item.defect:
            raise Unreadable(item.defect)
        if is_archive(path):
            _refuse_bomb(path, item)
            data = self._pour(lambda: item.store.open(item.key), path, self._wanted.most_in_all)
            before = len(self.files)
            self._unpack(path, data, prefix, depth + 1)
            if depth == 0:
                self._drop_twins(path, before)
        else:
            self._keep(path, item.size, lambda: item.store.open(item.key), item)

    def check(self) -> None:
        """Raises Unreadable when nothing that came can hold code."""
        if not any(self._wanted.code_name(file.path) for file in self.files):
            names = [file.path for file in self.files] + self._too_big
            raise Unreadable(self._wanted.nothing_usable(names, [], self._refused))

    def _keep(self, path: str, size: int, opened: Callable[[], BinaryIO], item: Item | None) -> None:
        """Read one file that is no archive, or leave it out with a note."""
        code = self._wanted.code_name(path)
        if code.lower() != path.lower() and fold(code) in self._paths:
            code = ""  # "attention.py.txt" beside "attention.py" is carried as the text that it is
        most = self._wanted.most_of(code or path)
        self._claim(path, code or path)
        if size > most:
            self._too_large(path, size, most, code, item)
            return
        data = self._pour(opened, path, most)
        if code and zips.is_zip(data):
            raise Unreadable(f"{path} is really a zip archive. Call it .zip, or hand in the file that is in it.")
        if code and code != path and code.lower() != path.lower():
            self.notes.append(f"{path} was read as {code}.")
        self.files.append(SourceFile(code or path, data))

    def _drop_twins(self, archive: str, before: int) -> None:
        """Forget an archive that holds only what came beside it: students hand in a zip and what they packed in it."""
        beside = {(file.path.rpartition("/")[2], file.data) for file in self.files[:before]}
        if before and all((file.path.rpartition("/")[2], file.data) in beside for file in self.files[before:]):
            del self.files[before:]
            self.notes.append(f"{archive} holds the same files as those beside it, which were read.")

    def _too_large(self, path: str, size: int, most: int, code: str, item: Item | None) -> None:
        words = f"{path} has {size / MEGABYTE:.0f} MB; at most {most // MEGABYTE} MB are read"
        if not code:
            self._too_big.append(path)
            self.notes.append(f"{words}, so it was left out.")
            return
        _refuse_bomb(path, item)
        mend = "clear its saved outputs" if code.endswith(".ipynb") else "hand in the code without data"
        raise Unreadable(f"{words}. To mend it, {mend}, save, and hand it in again.")

    def _claim(self, path: str, final: str) -> None:
        """Note that a path is taken. Raises Unreadable for two that a computer can't tell apart, or for too many."""
        key = fold(final)
        if key in self._paths:
            first = self._paths[key]
            which = f"two files named {path}"
            if first != path:
                which = f"both {first} and {path}, which many computers can't tell apart"
            raise Unreadable(
                f"There are {which}, so it is not clear which one counts. Keep one of them and hand it in again."
            )
        self._paths[key] = path
        steps = key.split("/")
        above = ["/".join(steps[:depth]) for depth in range(1, len(steps))]
        for folder in above:
            self._folders.setdefault(folder, path)
        if key in self._folders or any(folder in self._paths for folder in above):
            raise Unreadable(f"{path} is the name of a file and of a folder at once. Rename one of them.")
        if len(self._paths) > self._wanted.most_files:
            raise Unreadable(
                f"There are more than {self._wanted.most_files} files. "
                f"Hand in only your own work: {self._wanted.request}."
            )

    def _pour(self, opened: Callable[[], BinaryIO], path: str, most: int) -> bytes:
        """All bytes of one stream, never more than `most` nor than what is left for the submission."""
        pieces: list[bytes] = []
        count = 0
        bound = min(most, self._left)
        try:
            with opened() as stream:
                while piece := stream.read(_CHUNK):
                    count += len(piece)
                    if count > bound:
                        what = path if bound == most else "All files together"
                        limit = most if bound == most else self._wanted.most_in_all
                        raise Unreadable(
                            f"{what} would be more than {limit // MEGABYTE} MB, and no more is read. "
                            "Hand in only your own code, without data."
                        )
                    pieces.append(piece)
        except zips.DAMAGE:
            self.notes.append(f"{path} is damaged. If it came in a download, download that again first.")
            raise Unreadable(f"{path} is damaged and can't be read to its end. Hand it in again.") from None
        self._left -= count
        return b"".join(pieces)

    def _unpack(self, shown: str, data: bytes, prefix: str, depth: int) -> None:
        if depth > _MOST_ARCHIVES_DEEP:
            raise Unreadable(
                f"{shown} is an archive in an archive in an archive. Hand in {self._wanted.request} itself."
            )
        before = len(self._paths)
        junk: list[str] = []
        if zips.is_zip(data) or (shown.lower().endswith(".zip") and not tars.is_tar(data)):
            self._unpack_zip(shown, data, prefix, depth, junk)
        else:
            self._unpack_tar(shown, data, prefix, depth, junk)
        if junk:
            self.notes.append(f"Ignored in {shown}: {listed(sorted(set(junk)))}.")
        if len(self._paths) == before and not self._refused:
            what = "only files that a computer made by itself" if junk else "nothing"
            raise Unreadable(f"{shown} holds {what}. Pack it again with {self._wanted.request} in it.")

    def _leave_out(self, archive: str, path: str, why: str) -> None:
        self._refused.append(f"{archive}: {path} was left out. {why}")
        self.notes.append(self._refused[-1])

    def _unpack_zip(self, shown: str, data: bytes, prefix: str, depth: int, junk: list[str]) -> None:
        archive = zips.Zip(io.BytesIO(data), shown, _LIST_MB)
        tree = zips.listing(archive, shown)
        for folder in tree.everything():
            junk += [f"{folder.path}/{name}" if folder.path else name for name in folder.junk]
            for refused in folder.refused:
                if refused.spoils:
                    raise Unreadable(f"{shown}: {refused.why}")
                self._leave_out(shown, refused.path, refused.why)
        items = list(tree.items())
        for item in items:
            path = prefix + path_within([item.path])
            self._add_item(path, item, prefix if len(items) == 1 else f"{path}/", depth)

    def _unpack_tar(self, shown: str, data: bytes, prefix: str, depth: int, junk: list[str]) -> None:
        inner: list[tuple[str, bytes]] = []
        for member in tars.members(data, self._left, shown):
            try:
                names = parts(member.name)
            except RefusedName as refusal:
                raise Unreadable(f"{shown}: {refusal}") from None
            cut = junk_within(names)
            if cut:
                junk.append(visible("/".join(names[:cut])))
            elif member.kind in ("link", "special"):
                self._leave_out(shown, visible(member.name), LINK if member.kind == "link" else SPECIAL)
            elif member.kind == "file":
                path = prefix + path_within(names)
                stream = _Stream(member.contents)
                if is_archive(path):
                    inner.append((path, self._pour(lambda s=stream: s, path, self._left)))  # type: ignore[misc]
                else:
                    self._keep(path, member.size, lambda s=stream: s, None)  # type: ignore[misc]
        for path, packed in inner:
            self._unpack(path, packed, f"{path}/", depth + 1)


def _refuse_bomb(path: str, item: Item | None) -> None:
    """Raises Unreadable for what grows far more than honest work does. The caps hold anyway; this says why."""
    if item is not None and item.packed and item.size > max(_BOMB_SIZE, _BOMB_RATIO * item.packed):
        raise Unreadable(
            f"{path} would unpack to {item.size / MEGABYTE:.0f} MB, more than {_BOMB_RATIO} times its packed size. "
            "No honest code does that. Hand in only your own code."
        )


class _Stream(io.RawIOBase):
    """A tar member's contents with the face of a file."""

    def __init__(self, contents: tars.Contents) -> None:
        self._contents = contents

    def read(self, count: int = -1) -> bytes:
        return self._contents.read(count)
