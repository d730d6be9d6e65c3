"""What was handed in, as a tree of names: folders and files, wherever they lie, with nothing read yet."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from grader.intake.names import visible


class Unreadable(Exception):
    """A student's file can't be read or may not be. The text tells the student why and how to mend it."""


class Store(Protocol):
    """Where files lie: a folder or an archive."""

    def open(self, key: Hashable) -> BinaryIO:
        """A stream of one file's contents. Raises Unreadable."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Item:
    """One file and how to get at its contents, which are not read yet."""

    path: str
    """Below its input, "/" between the parts, fit to be shown."""
    size: int
    """Bytes, as the folder or archive says; an archive may lie."""
    store: Store
    key: Hashable
    packed: int = 0
    """Bytes it takes in its archive; 0 when it is not in one."""
    defect: str = ""
    """Why the contents can't be used, in words for the student."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Refused:
    """A name in the input that is no file which could be read: a link, a device, a path that leads outside."""

    path: str
    why: str
    spoils: bool = False
    """True when the archive that holds it should not be trusted at all."""
    ours: bool = False
    """True when this machine refuses to read it, which is no student's doing."""


class Folder:
    """A folder of the input, or the input itself. Keyed by raw names, so that look-alikes stay apart."""

    __slots__ = ("files", "folders", "junk", "name", "path", "refused")

    def __init__(self, name: str, path: str = "") -> None:
        self.name = visible(name)
        self.path = path
        """Below the input; "" for the input itself."""
        self.folders: dict[str, Folder] = {}
        self.files: list[Item] = []
        self.junk: list[str] = []
        """Names, each below this folder; one ending in "/" stands for all that it holds."""
        self.refused: list[Refused] = []

    def folder(self, names: tuple[str, ...]) -> Folder:
        """The folder at the raw names below this one, made when it is not there."""
        here = self
        for name in names:
            if name not in here.folders:
                here.folders[name] = Folder(name, here.below(name))
            here = here.folders[name]
        return here

    def below(self, name: str) -> str:
        """The path of something directly in this folder."""
        return f"{self.path}/{visible(name)}" if self.path else visible(name)

    def within(self, item: Item) -> str:
        """The path of an item of this folder, seen from the folder."""
        return item.path[len(self.path) + 1 :] if self.path else item.path

    def everything(self) -> Iterator[Folder]:
        """This folder and all below it, in the order of their names."""
        yield self
        for name in sorted(self.folders):
            yield from self.folders[name].everything()

    def items(self) -> Iterator[Item]:
        """All files here and below."""
        for folder in self.everything():
            yield from sorted(folder.files, key=lambda item: item.path)

    @property
    def subfolders(self) -> list[Folder]:
        return [self.folders[name] for name in sorted(self.folders)]
