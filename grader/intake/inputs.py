"""What the staff named on the command line, opened: a file, a folder or a zip, as a tree of names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.errors import IntakeError
from grader.intake import disk, zips
from grader.intake.names import stem
from grader.intake.tree import Folder, Item, Unreadable

_LIST_MB = 512


@dataclass(frozen=True)
class Input:
    """One of the paths that were named."""

    shown: str
    """What the paths in it are shown below."""
    root: Folder
    file: bool = False
    """True when it is one file, which holds nothing that could be told apart by name."""
    zip: zips.Zip | None = None
    problem: str = ""
    """Why a file can't be looked into."""


def open_input(path: Path) -> Input:
    """The path as a tree. Raises IntakeError when there is nothing, or it can't be read."""
    try:
        real = path.resolve(strict=True)
        if real.is_dir():
            tree = disk.listing(real)
            tree.name = path.name or real.name
            return _only_a_zip(path, real, tree) or Input(str(path), tree)
        if not real.is_file():
            raise IntakeError(f"{path} is neither a file nor a folder. Give the path of the submissions.")
        disk.open_plain(real.parent, (real.name,)).close()
    except FileNotFoundError:
        raise IntakeError(f"{path} does not exist. Check the path; the current folder is {Path.cwd()}.") from None
    except OSError as error:
        raise IntakeError(f"{path} can't be read: {error.strerror or error}. Check its permissions.") from None
    if path.name.lower().endswith(".zip"):
        return _zip(path, real)
    return _file(path, real)


def _zip(path: Path, real: Path) -> Input:
    try:
        archive = zips.Zip(disk.open_plain(real.parent, (real.name,)), path.name, _LIST_MB)
    except Unreadable as reason:
        return _file(path, real, str(reason))
    return Input(str(path), zips.listing(archive, stem(path.name)), zip=archive)


def _file(path: Path, real: Path, problem: str = "") -> Input:
    root = Folder(real.parent.name)
    root.files.append(Item(path.name, real.stat().st_size, disk.Disk(real.parent), (real.name,)))
    return Input(str(path.parent), root, file=True, problem=problem)


def _only_a_zip(path: Path, real: Path, tree: Folder) -> Input | None:
    """A folder with one zip and nothing else is as good as the zip."""
    if tree.folders or len(tree.files) != 1 or not tree.files[0].name.lower().endswith(".zip"):
        return None
    name = tree.files[0].key
    assert isinstance(name, tuple)
    inner = _zip(path / name[0], real / name[0])
    if inner.zip is None:
        return None
    inner.root.junk += [f"../{junk}" for junk in tree.junk]
    inner.root.refused += tree.refused
    return inner
