"""What is taken along when the grader runs elsewhere: its own package, and halves of an assignment, checked for strays.

A file that is no known part of the assignment is refused, not left out: it may be somebody's submission, and whoever
builds should know that it lies there.
"""

from __future__ import annotations

import ast
import io
import shutil
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.assignment import SAMPLE_CLASS, SETTINGS, Assignment
from grader.errors import UsageError
from grader.pages.words import BUILT_IN
from grader.run_directory import write

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Files = dict[str, bytes]
"""Path in the bundle -> contents."""

PACKAGE = Path(__file__).resolve().parent.parent
_EPOCH = (1980, 1, 1, 0, 0, 0)
_PICTURES = {".png", ".svg", ".jpg"}
_STAFF = {
    *("test_hidden.py", "bounds.py", "misconceptions.py", "conventions.py"),
    *("alternatives.py", "cheats.py", "equivalent.toml"),
}
"""Files of the staff half that the grader looks for by name; the second line only for the audit, but they count in
the assignment's digest, from which the seeds come."""
_LEFT_OUT = {"sample_class", SAMPLE_CLASS}
_CACHES = {"__pycache__", ".ipynb_checkpoints", ".DS_Store", ".mypy_cache", ".ruff_cache", ".pytest_cache"}


def grader_files() -> Files:
    """The grader's package and the templates that a run needs."""
    found = {f"grader/{path.relative_to(PACKAGE).as_posix()}": path for path in PACKAGE.rglob("*.py")}
    for path in BUILT_IN.rglob("*"):
        name = path.relative_to(BUILT_IN)
        if path.is_file() and name.parts[0] != "new" and path.suffix in {".j2", ".css", ".js", ".toml"}:
            found[f"templates/{name.as_posix()}"] = path
    return {name: path.read_bytes() for name, path in found.items()}


def requirements() -> tuple[str, list[str]]:
    """(the pinned requirement for PyTorch, all other pinned requirements), as pip reads them."""
    table = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    pins: list[str] = table["project"]["dependencies"]
    torch = next(pin for pin in pins if pin.startswith("torch=="))
    return torch, [pin for pin in pins if pin != torch]


def public_half(assignment: Assignment, include: Iterable[Path] = ()) -> Files:
    """What students receive, below "assignments/<name>/". Raises UsageError naming files that are no part of it."""
    name = assignment.name
    known = {SETTINGS, f"{name}.py", f"{name}.ipynb", f"test_{name}.py", f"check_{name}.py"}
    known |= set(assignment.settings.files)
    return _half(assignment.public, known, {".md", *_PICTURES}, f"assignments/{name}", include)


def staff_half(assignment: Assignment, include: Iterable[Path] = ()) -> Files:
    """What staff write, below "solutions/<name>/", without the sample class. Raises UsageError as `public_half`."""
    name = assignment.name
    known = {*_STAFF, f"{name}.py", f"{name}.ipynb"}
    known |= {f"{module}.py" for module in _imported(assignment.staff, known)}
    files = _half(assignment.staff, known, {".md"}, f"solutions/{name}", include)
    for path in sorted((assignment.staff / "templates").glob("*")):
        files[f"solutions/{name}/templates/{path.name}"] = _contents(path)
    return files


def write_zip(path: Path, files: Files, executable: Iterable[str] = ()) -> None:
    """A zip of the files. The same files give the same bytes. Raises UsageError when it can't be written."""
    runs = set(executable)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(files.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3  # Unix, wherever this runs, so that the mode below holds
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if name in runs else 0o100644) << 16
            archive.writestr(info, data)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path.parent, error) from None
    write(path, packed.getvalue())


def write_folder(folder: Path, files: Files, executable: Iterable[str] = ()) -> None:
    """The files in a new folder. Raises UsageError when it exists or can't be written; then nothing of it is left."""
    if folder.exists():
        raise UsageError(f"{folder} exists already. Remove it, or name another folder with -o.")
    runs = set(executable)
    try:
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755 if name in runs else 0o644)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _unwritable(folder, error) from None


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} can't be written: {error.strerror}. Free some space or name another place with -o.")


def _half(folder: Path, known: set[str], suffixes: set[str], below: str, include: Iterable[Path]) -> Files:
    wanted = {path.resolve() for path in include}
    for path in sorted(wanted):
        if not path.is_file():
            raise UsageError(f"--include: {path} is not a file. Check the path.")
    files: Files = {}
    strays: list[Path] = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name in _LEFT_OUT | _CACHES or path.name == "templates":
            continue
        if path.name in known or path.suffix in suffixes or path.resolve() in wanted:
            files[f"{below}/{path.name}"] = _contents(path)
        else:
            strays.append(path)
    if strays:
        shown = "\n".join(f"  {path}" for path in strays[:10])
        raise UsageError(
            f"These are no part of the assignment, so they might be somebody's work or an earlier run:\n{shown}\n"
            "Move them away. If one belongs to the assignment, name it with --include."
        )
    return files


def _contents(path: Path) -> bytes:
    """Raises UsageError for what is not a plain file: a link could lead anywhere."""
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"{path} is a folder or a link. Only plain files can be taken along: put a copy in its place.")
    return path.read_bytes()


def _imported(folder: Path, known: set[str]) -> set[str]:
    """Modules in the folder that the known files import, directly or through others."""
    reached: set[str] = set()
    waiting = [folder / name for name in known if name.endswith(".py")]
    while waiting:
        path = waiting.pop()
        for module in _imports(path) - reached:
            if (folder / f"{module}.py").is_file():
                reached.add(module)
                waiting.append(folder / f"{module}.py")
    return reached


def _imports(path: Path) -> set[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    return set(_names(tree))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
