"""Files and folders on disk: links are never followed, and only regular files are opened."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Hashable
from pathlib import Path
from typing import BinaryIO

from grader.errors import ReadError
from grader.intake.junk import is_junk_file, is_junk_folder
from grader.intake.names import DEEPEST, visible
from grader.intake.tree import Folder, Item, Refused, Unreadable

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_PLAIN = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_STEPWISE = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
LINK = "It is a link to another place, and links are not followed. Hand in the file itself."
SPECIAL = "It is not a regular file (a device, a pipe or a socket). Hand in ordinary files only."


class Positioned(io.RawIOBase):
    """A file that keeps its own place, so that processes which share the descriptor don't disturb each other."""

    def __init__(self, descriptor: int, path: Path) -> None:
        """`path`: what it is, for a message to staff."""
        self._path = path
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Raises ReadError, which is no OSError: a broken disk must not look like a broken file."""
        try:
            if hasattr(os, "pread"):
                data = os.pread(self._descriptor, len(buffer), self._place)
            else:
                os.lseek(self._descriptor, self._place, os.SEEK_SET)
                data = os.read(self._descriptor, len(buffer))
        except OSError as error:
            raise ReadError(
                f"{visible(str(self._path))} can't be read ({error.strerror}): the disk or network drive that it lies "
                "on has failed. Copy or download it again to another place."
            ) from None
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError("a place before the file's beginning")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


class Disk:
    """A folder on disk. Keys are the raw names of the parts below it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def open(self, key: Hashable) -> BinaryIO:
        """A stream of the regular file at the raw names. Raises Unreadable, also for a link anywhere in it.

        Raises ReadError when this machine refuses: no permission, a failing disk. That is no student's doing.
        """
        assert isinstance(key, tuple)
        try:
            return open_plain(self._root, key)
        except OSError as error:
            if error.errno in (None, errno.ELOOP, errno.ENOTDIR):  # it is a link, or no file at all any more
                raise Unreadable(_words(visible(key[-1]), error)) from None
            raise ReadError(_words(str(self._root.joinpath(*key)), error)) from None

    def close(self) -> None:
        """Nothing stays open between files."""


def open_plain(root: Path, names: tuple[str, ...]) -> BinaryIO:
    """Open root/names, following no link below root. Raises OSError (ELOOP for a link), also for what is no file."""
    if not _STEPWISE:
        here = root
        for name in names:
            here = here / name
            if here.is_symlink():
                raise OSError("a link")
        return _regular(os.open(here, _PLAIN), root.joinpath(*names))
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in names[:-1]:
            deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = deeper
        return _regular(os.open(names[-1], _PLAIN, dir_fd=folder), root.joinpath(*names))
    finally:
        os.close(folder)


def listing(root: Path) -> Folder:
    """The folder on disk as a tree. A folder in it that can't be listed is refused, with the reason."""
    store = Disk(root)
    tree = Folder(root.name)
    _list(root, (), tree, store)
    return tree


def _list(path: Path, names: tuple[str, ...], folder: Folder, store: Disk) -> None:
    with os.scandir(path) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        shown = folder.below(entry.name)
        if entry.is_symlink():
            folder.refused.append(Refused(shown, LINK))
        elif entry.is_dir(follow_symlinks=False):
            if is_junk_folder(entry.name):
                folder.junk.append(f"{visible(entry.name)}/")
            elif len(names) >= DEEPEST:
                folder.refused.append(Refused(shown, "It lies too deep in folders."))
            else:
                inner = folder.folder((entry.name,))
                try:
                    _list(path / entry.name, (*names, entry.name), inner, store)
                except OSError as error:
                    inner.refused.append(Refused(shown, _words(str(path / entry.name), error), ours=True))
        elif is_junk_file(entry.name):
            folder.junk.append(visible(entry.name))
        else:
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode):
                folder.files.append(Item(shown, info.st_size, store, (*names, entry.name)))
            else:
                folder.refused.append(Refused(shown, SPECIAL))


def _regular(descriptor: int, path: Path) -> BinaryIO:
    """The descriptor as a stream, if it is a regular file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return io.BufferedReader(Positioned(descriptor, path))


def _words(name: str, error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{visible(name)} can't be read ({reason}). Look at its permissions, or copy it again."
