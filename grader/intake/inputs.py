"""What the staff named on the command line, opened: a file, a folder or a zip, as a tree of names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.errors import IntakeError, ReadError
from grader.intake import disk, zips
from grader.intake.names import stem
from grader.intake.tree import Folder, Item, Unreadable

_LIST_MB = 512


@dataclass(frozen=True)
class Input:
    """One of the paths that were named."""

    shown: str
    """What the paths in it are shown below."""
    parent: str
    """Name of the folder that it lies in."""
    root: Folder
    file: Item | None = None
    """The one file that it is, when it can't be looked into."""
    problem: str = ""
    """Why a file that should be looked into can't be."""
    zip: zips.Zip | None = None
    outside: Folder | None = None
    """The folder that holds the zip and nothing else."""
    container: Item | None = None
    """The zip, as a file of `outside`."""

    @property
    def trees(self) -> list[tuple[str, Folder]]:
        """Every tree that has to be accounted for, and what its paths are shown below."""
        found = [(self.shown, self.root)]
        if self.outside is not None:
            found.append((str(Path(self.shown).parent), self.outside))
        return found


def open_input(path: Path) -> Input:
    """The path as a tree. Raises IntakeError when there is nothing, ReadError when this machine can't read it."""
    try:
        real = path.resolve(strict=True)
        if real.is_dir():
            tree = disk.listing(real)
            return _only_a_zip(path, real, tree) or Input(str(path), real.parent.name, tree)
        if not real.is_file():
            raise IntakeError(f"{path} is neither a file nor a folder. Give the path of the submissions.")
        disk.open_plain(real.parent, (real.name,)).close()
    except FileNotFoundError:
        raise IntakeError(f"{path} does not exist. Check the path; the current folder is {Path.cwd()}.") from None
    except (OSError, RuntimeError) as error:  # Python 3.10 raises RuntimeError over a loop of links
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ReadError(f"{path} can't be read: {reason}. Check the path and its permissions.") from None
    return _file(path, real)


def _file(path: Path, real: Path) -> Input:
    """A file: the zip's tree when it is one that opens, else a tree of the file alone."""
    archive: zips.Zip | None = None
    problem = ""
    if path.name.lower().endswith(".zip"):
        try:
            archive = zips.Zip(disk.open_plain(real.parent, (real.name,)), path.name, _LIST_MB)
        except Unreadable as reason:
            problem = str(reason)
    if archive is not None:
        return Input(str(path), real.parent.name, zips.listing(archive, stem(path.name)), zip=archive)
    root = Folder(real.parent.name)
    item = Item(path.name, real.stat().st_size, disk.Disk(real.parent), (real.name,))
    root.files.append(item)
    return Input(str(path.parent), real.parent.name, root, file=item, problem=problem)


def _only_a_zip(path: Path, real: Path, tree: Folder) -> Input | None:
    """A folder with one zip and nothing else is as good as the zip."""
    if tree.folders or len(tree.files) != 1 or not tree.files[0].name.lower().endswith(".zip"):
        return None
    name = tree.files[0].key
    assert isinstance(name, tuple)
    inner = _file(path / name[0], real / name[0])
    if inner.zip is None:
        return None
    return Input(inner.shown, inner.parent, inner.root, zip=inner.zip, outside=tree, container=tree.files[0])
