"""Tar archives, read as a stream by our own reader: regular files only.

The format is a row of 512-byte headers, each followed by its contents (POSIX.1-1988 ustar, with the GNU long
name and the POSIX.1-2001 "pax" path). The standard library's reader does much more, and several of its extras
have been ways to attack; this one has no links, no devices, no sparse files and no seeking.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

from grader.intake.tree import Unreadable

BLOCK = 512
_LONGEST_HEADER = 1 << 16
Kind = Literal["file", "folder", "link", "special"]
_KINDS: dict[bytes, Kind] = {b"0": "file", b"\0": "file", b"7": "file", b"5": "folder", b"1": "link", b"2": "link"}


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    kind: Kind
    size: int
    contents: Contents


class Contents:
    """The bytes of the member that the stream stands at. Read them before the next member is asked for."""

    def __init__(self, stream: Capped, size: int) -> None:
        self._stream = stream
        self._left = size
        self._padding = -size % BLOCK

    def read(self, count: int) -> bytes:
        data = self._stream.exactly(min(count, self._left))
        self._left -= len(data)
        return data

    def skip(self) -> None:
        while self._left:
            self.read(1 << 16)
        self._stream.exactly(self._padding)
        self._padding = 0


class Capped:
    """A stream of which only so many bytes may be taken, whatever an archive claims."""

    def __init__(self, stream: BinaryIO, limit: int, shown: str) -> None:
        self._stream = stream
        self._left = limit
        self._shown = shown

    def exactly(self, count: int) -> bytes:
        """So many bytes. Raises Unreadable when the stream ends before, is damaged, or the cap is reached."""
        if count > self._left:
            raise Unreadable(
                f"{self._shown} unpacks to more than can be taken. Pack only the files asked for, without data."
            )
        self._left -= count
        try:
            data = self._stream.read(count)
        except (OSError, EOFError, zlib.error):
            raise Unreadable(f"{self._shown} is damaged. Pack it again as a .zip.") from None
        if len(data) < count:
            raise Unreadable(f"{self._shown} ends too early: it is incomplete. Pack or upload it again.")
        return data


def members(data: bytes, limit: int, shown: str) -> Iterator[Member]:
    """The members of a tar or tar.gz, in order; at most `limit` bytes are unpacked. Raises Unreadable."""
    raw: BinaryIO = io.BytesIO(data)
    if data.startswith(b"\x1f\x8b"):
        raw = gzip.GzipFile(fileobj=raw)  # type: ignore[assignment]
    elif len(data) < BLOCK:
        raise Unreadable(f"{shown} is not a tar archive, although its name says so. Pack your work as a .zip.")
    stream = Capped(raw, limit, shown)
    long_name = ""
    long_size: int | None = None
    while True:
        header = stream.exactly(BLOCK)
        if not any(header):
            return
        if sum(header[:148]) + 256 + sum(header[156:]) != _number(header[148:156], shown):
            raise Unreadable(f"{shown} is not a tar archive, or is damaged. Pack it again as a .zip.")
        size = _number(header[124:136], shown)
        flag = header[156:157]
        if flag in b"LxgKX":
            if size > _LONGEST_HEADER:
                raise Unreadable(f"{shown} has a file name of {size} bytes. Pack it again as a .zip.")
            contents = Contents(stream, size)
            extra = contents.read(size)
            contents.skip()
            if flag == b"L":
                long_name = _text(extra.split(b"\0")[0])
            elif flag in b"xX":
                records = _pax(extra)
                long_name = _text(records.get(b"path", b"")) or long_name
                if records.get(b"size", b"").isdigit():
                    long_size = int(records[b"size"][:20])
            continue
        prefix = header[345:500] if header[257:263] == b"ustar\0" else b""
        name = _text(header[:100].split(b"\0")[0])
        if prefix.strip(b"\0"):
            name = f"{_text(prefix.split(bytes(1))[0])}/{name}"
        kind = _KINDS.get(flag, "special")
        length = size if long_size is None else long_size
        contents = Contents(stream, length if kind in ("file", "special") else 0)
        whole = long_name or name
        if kind == "file" and whole.endswith("/"):
            kind = "folder"
        yield Member(whole, kind, length, contents)
        contents.skip()
        long_name, long_size = "", None


def is_tar(beginning: bytes) -> bool:
    """Whether it begins like a tar.gz, or a tar of one of the dialects that say what they are."""
    return beginning.startswith(b"\x1f\x8b") or beginning[257:262] == b"ustar"


def _number(field: bytes, shown: str) -> int:
    """An octal field; GNU writes large ones in base 256."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.split(b"\0")[0].strip()
    try:
        return int(digits, 8) if digits else 0
    except ValueError:
        raise Unreadable(f"{shown} is not a tar archive, or is damaged. Pack it again as a .zip.") from None


def _pax(data: bytes) -> dict[bytes, bytes]:
    """The records "length key=value\\n" of a pax header; what does not fit the form ends the reading."""
    records: dict[bytes, bytes] = {}
    while data:
        count, space, _ = data[:20].partition(b" ")
        if not space or not count.isdigit() or not len(count) + 1 < int(count) <= len(data):
            break
        key, _, value = data[len(count) + 1 : int(count) - 1].partition(b"=")
        records[key] = value
        data = data[int(count) :]
    return records


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
