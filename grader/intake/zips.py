"""Zip archives, read where they lie: names first, contents one member at a time, nothing ever unpacked to disk."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from grader.intake.disk import LINK, SPECIAL
from grader.intake.junk import junk_within
from grader.intake.names import RefusedName, parts, visible
from grader.intake.tree import Folder, Item, Refused, Unreadable

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # zipfile's way to ask for a password
    NotImplementedError,
    ValueError,
    IndexError,
    OverflowError,
)
"""What the standard library raises over a damaged or unusual zip."""
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_UTF8_NAME = 0x800
_ENCRYPTED = 0x1
_NOT_PLAIN = "was packed in a way that can't be read here. Pack it again as an ordinary .zip."
_PASSWORD = "is protected by a password. Pack it again without one."
_DAMAGED = "is damaged. Pack it again, and open it once yourself before you hand it in."
_OVERLAP = "shares its place in the zip with another file, so the zip is damaged. Pack it again."
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Member:
    """One name in a zip's list."""

    name: str
    index: int
    size: int
    packed: int
    folder: bool
    refusal: str
    """Why it is no regular file; "" when it is one."""
    defect: str


class Zip:
    """An open zip. Keys are positions in its list."""

    def __init__(self, file: BinaryIO, shown: str, directory_mb: int) -> None:
        """Reads the list of names. Raises Unreadable when there is none, or it is larger than `directory_mb`."""
        self._file = file
        self._shown = shown
        try:
            if _directory_bytes(file) > directory_mb * MEGABYTE:
                raise Unreadable(f"{shown} lists far too many files. Pack only the files asked for.")
            self._zip = zipfile.ZipFile(file)
        except DAMAGE as error:
            raise Unreadable(_diagnose(file, shown, error)) from None
        self._infos = self._zip.infolist()

    def open(self, key: Hashable) -> BinaryIO:
        assert isinstance(key, int)
        info = self._infos[key]
        try:
            return self._zip.open(info)  # type: ignore[return-value]
        except DAMAGE:
            raise Unreadable(f"{visible(info.filename)} in {self._shown} {_DAMAGED}") from None

    def close(self) -> None:
        self._zip.close()
        self._file.close()

    def members(self) -> Iterator[Member]:
        """The zip's list, in its own order, each with what is wrong about it."""
        overlapping = _overlapping(self._infos, self._zip.start_dir)
        for index, info in enumerate(self._infos):
            name = _decoded(info)
            kind = stat.S_IFMT(info.external_attr >> 16)
            folder = name.endswith(("/", "\\")) or kind == stat.S_IFDIR
            refusal = ""
            if stat.S_ISLNK(kind):
                refusal = LINK
            elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                refusal = SPECIAL
            defect = ""
            if info.flag_bits & _ENCRYPTED:
                defect = _PASSWORD
            elif info.compress_type not in _METHODS:
                defect = _NOT_PLAIN
            elif index in overlapping:
                defect = _OVERLAP
            if defect:
                defect = f"{visible(name)} {defect}"
            yield Member(name, index, info.file_size, info.compress_size, folder, refusal, defect)


def listing(archive: Zip, name: str) -> Folder:
    """The zip's names as a tree called `name`."""
    tree = Folder(name)
    for member in archive.members():
        try:
            names = parts(member.name)
        except RefusedName as refusal:
            tree.refused.append(Refused(visible(member.name), str(refusal), spoils=True))
            continue
        depth = junk_within((*names, "")) if member.folder else junk_within(names)
        if depth:
            whole = depth < len(names) or member.folder
            holder = tree.folder(names[: depth - 1])
            name = visible(names[depth - 1]) + ("/" if whole else "")
            if name not in holder.junk:
                holder.junk.append(name)
        elif member.folder:
            tree.folder(names)
        elif names:
            folder = tree.folder(names[:-1])
            path = folder.below(names[-1])
            if member.refusal:
                folder.refused.append(Refused(path, member.refusal))
            else:
                item = Item(path, member.size, archive, member.index, max(1, member.packed), member.defect)
                folder.files.append(item)
        else:
            tree.refused.append(Refused(visible(member.name), "It has no name."))
    return tree


def is_zip(beginning: bytes) -> bool:
    return beginning.startswith((b"PK\3\4", b"PK\5\6"))


def _decoded(info: zipfile.ZipInfo) -> str:
    """The member's name. macOS writes UTF-8 without saying so; zipfile then reads it as the DOS alphabet."""
    name = info.orig_filename
    if info.flag_bits & _UTF8_NAME:
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def _overlapping(infos: list[zipfile.ZipInfo], end: int) -> set[int]:
    """Positions of members that claim bytes which another member, or the list itself, claims too."""
    found: set[int] = set()
    order = sorted(range(len(infos)), key=lambda index: infos[index].header_offset)
    reach, holder = 0, -1
    for index in order:
        info = infos[index]
        if holder >= 0 and info.header_offset < reach:
            found |= {index, holder}
        stop = info.header_offset + 30 + len(info.orig_filename) + info.compress_size
        if stop > reach:
            reach, holder = stop, index
        if stop > end:
            found.add(index)
    return found


def _directory_bytes(file: BinaryIO) -> int:
    """How long the zip's list claims to be, by the larger of its one or two end records; 0 when there is none."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 70_000))
    tail = file.read()
    file.seek(0)
    claims = [0]
    place = tail.rfind(b"PK\5\6")
    if 0 <= place <= len(tail) - 22:
        claims.append(struct.unpack_from("<L", tail, place + 12)[0])
        if claims[-1] == 0xFFFFFFFF:
            claims[-1] = 0  # the 64-bit record holds the real length
    place = tail.rfind(b"PK\6\6")
    if 0 <= place <= len(tail) - 56:
        claims.append(struct.unpack_from("<Q", tail, place + 40)[0])
    return max(claims)


def _diagnose(file: BinaryIO, shown: str, error: Exception) -> str:
    try:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        start = file.read(8)
    except DAMAGE:
        return f"{shown} {_DAMAGED}"
    if not size:
        return f"{shown} is empty: it has no contents at all. Pack it again and hand that in."
    if start.startswith(b"Rar!"):
        return f"{shown} is a RAR archive with another name. Pack it as an ordinary .zip."
    if start.startswith(b"7z\xbc\xaf"):
        return f"{shown} is a 7-Zip archive with another name. Pack it as an ordinary .zip."
    if not is_zip(start):
        return f"{shown} is not a zip, although its name says so. Pack it again as an ordinary .zip."
    if isinstance(error, zipfile.BadZipFile):
        return f"{shown} is incomplete or damaged: its list of files is missing. Pack or download it again."
    return f"{shown} {_DAMAGED}"
