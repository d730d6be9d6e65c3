"""Both halves of a new assignment that works from the start: a small one to change step by step into one's own."""

from __future__ import annotations

import keyword
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from grader.assignment import load
from grader.authoring.release import release
from grader.errors import AssignmentError

TEMPLATE = Path(__file__).resolve().parents[2] / "templates" / "new"
EXAMPLE = "centre_rows"
"""What the template's assignment is called, in file names and in texts."""


def new(name: str, root: Path) -> list[Path]:
    """Write assignments/<name>/ and solutions/<name>/ under `root`; the files, starters included.

    The name is also that of the function that students write, until the author changes assignment.toml. Raises
    AssignmentError: not a name that Python takes, taken already, or one that another module needs.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise AssignmentError(
            f"{name!r} can't be the name of an assignment. Use small letters, digits and _, such as layer_norm."
        )
    if (TEMPLATE / "solutions" / f"{name}.py").exists() and name != EXAMPLE:
        raise AssignmentError(f"{name!r} is the name of a staff module. Choose another one, such as my_{name}.")
    if name in sys.stdlib_module_names or _found(name):
        raise AssignmentError(
            f"{name!r} is the name of a Python module, which the assignment's own file would hide. "
            f"Choose another name, such as my_{name}."
        )
    halves = {half: root / half / name for half in ("assignments", "solutions")}
    for folder in halves.values():
        if folder.exists():
            raise AssignmentError(f"{folder} exists already. Choose another name, or remove it first.")
    try:
        written = [path for half, folder in halves.items() for path in _copied(TEMPLATE / half, folder, name)]
    except OSError as error:
        for folder in halves.values():
            shutil.rmtree(folder, ignore_errors=True)
        raise AssignmentError(
            f"Nothing can be written into {root}: {error.strerror}. Name the course folder with `grader --root FOLDER`."
        ) from None
    return written + release(load(name, root))


def _copied(template: Path, folder: Path, name: str) -> Iterator[Path]:
    """Write one half; the files."""
    for source in sorted(template.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            target = folder / str(source.relative_to(template)).replace(EXAMPLE, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.read_text(encoding="utf-8").replace(EXAMPLE, name), encoding="utf-8")
            yield target


def _found(name: str) -> bool:
    """Whether Python finds a module of this name that is not the file of another course's assignment."""
    spec = PathFinder.find_spec(name)
    if spec is None or spec.origin is None:  # without an origin it is a folder without code, such as docs/
        return False
    return Path(spec.origin).parts[-3:-1] != ("solutions", name)
