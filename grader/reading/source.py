"""Which of a submission's files is graded, and its source as units that can be compiled one by one.

Runs in the marker, so nothing here compiles, parses or runs what students wrote: files are told apart by name
and by text. The child compiles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from grader.assignment import Settings
from grader.entry import Entry, Problem, Unit
from grader.reading import magics, notebook, stubs
from grader.reading.decoding import decode, disguise
from grader.results import SourceText
from grader.submission import SourceFile

LONGEST = 2_000_000
"""Characters of source that are loaded."""
_SHOWN, _SHOWN_EACH = 200_000, 40_000
"""Characters of source that a report shows, in all and of each file or cell."""
_SIDE = re.compile(r"(?:test_|conftest|setup$)|.*(?:_test|[ _-]old|backup|[ _-]copy|example)$", re.IGNORECASE)
_ADDED = re.compile(r"(?:[ ]?\(\d+\)|-\d+|[ _-]?copy)$")


@dataclass(frozen=True)
class Sources:
    """What a child loads."""

    units: list[Unit]
    files: dict[str, bytes] = field(default_factory=dict)
    """The submission's other files, and what `%%writefile` wrote: path -> contents."""
    notes: list[str] = field(default_factory=list)
    choice: list[str] = field(default_factory=list)
    """Which file was graded when another one could have been: those of the notes that students read too."""
    problem: Problem | None = None
    """Why there is nothing to load; None when there is."""
    main: str = ""
    """Path of the file that is graded."""
    originals: list[Unit] = field(default_factory=list)
    """The same source as the student wrote it, for reports."""


@dataclass(frozen=True)
class _Candidate:
    """A file that may be the one to grade. A .py file is one cell with number 0."""

    path: str
    cells: list[notebook.Cell]
    note: str
    problem: Problem | None
    holds: int
    """As in `stubs.holds`."""


def units(files: Sequence[SourceFile], settings: Settings) -> Sources:
    """Choose the file to grade and turn it into units: a .py file is one, a notebook one a code cell.

    A file that holds the finished function is preferred over one that does not, then the names that the
    handout asks for, in its order, then .py over .ipynb, then the file that lies least deep.
    """
    found = [candidate for file in files if (candidate := _candidate(file, settings)) is not None]
    if not found:
        return Sources([], problem=_nothing(files, settings))
    best = min(found, key=lambda candidate: _order(candidate, settings))
    others = {file.path: file.data for file in files if file.path != best.path}
    choice = _choice(best, found)
    notes = list(choice)
    if best.note:
        notes.append(f"{best.path}: {best.note}.")
    if best.problem is not None:
        return Sources([], others, notes, choice, best.problem, best.path)
    result = Sources([], dict(others), notes, choice, None, best.path)
    for cell in best.cells:
        if cell.kind == "code":
            _add(result, cell)
    _take_written(result, others, settings.entry)
    problem = _empty(best, result.units, settings.entry)
    return result if problem is None else Sources([], others, notes, choice, problem, best.path, result.originals)


def texts(sources: Sources, settings: Settings) -> list[SourceText]:
    """The graded source as the student wrote it, then their other .py files; cut to what a page can show."""
    pieces = [(unit.file, unit.cell, unit.source) for unit in sources.originals]
    for path, data in sources.files.items():
        if PurePosixPath(path).suffix in {".py", *settings.accepts} - {".ipynb"} and not disguise(data):
            pieces.append((path, None, decode(data[: _SHOWN_EACH * 4]).text))
    shown: list[SourceText] = []
    left = _SHOWN
    for file, cell, text in pieces:
        limit = min(left, _SHOWN_EACH)
        if limit <= 0:
            break
        cut = text if len(text) <= limit else text[:limit] + "\n... (not shown: too long)"
        shown.append(SourceText(file=file, cell=cell, text=cut))
        left -= len(cut)
    return shown


def _add(result: Sources, cell: notebook.Cell) -> None:
    """A code cell (or a whole .py file) in plain Python, with what was taken out of it noted."""
    number = cell.number or None
    plain = magics.plain_cell(cell.source) if number else magics.plain_file(cell.source)
    result.originals.append(Unit(result.main, number, cell.source))
    if plain.writes and _fits(plain.writes, result.files):
        before = result.files.get(plain.writes, b"") if plain.appends else b""
        result.files[plain.writes] = before + plain.body
    if plain.left_out:
        more = "" if len(plain.left_out) <= 5 else f" and {len(plain.left_out) - 5} more"
        at = f"cell {number}" if number else result.main
        result.notes.append(f"Left out of {at}: {', '.join(plain.left_out[:5])}{more}.")
    if plain.source.strip():
        result.units.append(Unit(result.main, number, plain.source))


def _take_written(result: Sources, others: Mapping[str, bytes], entry: Entry) -> None:
    """A function that only stands in a file that `%%writefile` wrote is the work, imported or not."""
    if stubs.holds("\n".join(unit.source for unit in result.units), entry) >= stubs.ALIAS:
        return
    for path in result.files.keys() - others.keys():
        text = decode(result.files[path]).text
        if path.endswith(".py") and stubs.holds(text, entry) == stubs.WRITTEN:
            result.units.append(Unit(path, None, magics.plain_file(text).source))


def _fits(path: str, files: Mapping[str, bytes]) -> bool:
    """Whether a file of this path can lie beside the others: none is a folder of the other's name."""
    return not any(other.startswith(path + "/") or path.startswith(other + "/") for other in files)


def _candidate(file: SourceFile, settings: Settings) -> _Candidate | None:
    """A file as a candidate, by what it holds rather than by what it is called; None for other files."""
    path = PurePosixPath(file.path)
    suffix = path.suffix.lower()
    if path.name.startswith("._") or {"__MACOSX", ".ipynb_checkpoints"} & set(path.parts):
        return None
    likely = suffix in (".py", ".ipynb")
    if not likely and suffix not in (".txt", ".json", ""):
        return None
    if notebook.looks_like_notebook(file.data) or (suffix == ".ipynb" and not _reads_like_python(file.data)):
        if ".ipynb" not in settings.accepts:
            return None
        read = notebook.cells(file.data, path.name)
        text = "\n".join(cell.source for cell in read.cells if cell.kind == "code")
        note = "" if suffix == ".ipynb" else "it is a notebook although its name does not end in .ipynb"
        return _Candidate(file.path, read.cells, note, read.problem, _holds(text, settings.entry))
    if ".py" not in settings.accepts or not (suffix == ".py" or _reads_like_python(file.data)):
        return None
    what = disguise(file.data)
    if what:
        message = f"{path.name} is {what}, not a Python file. Hand in the .py or .ipynb file itself."
        return _Candidate(file.path, [], "", Problem(kind="unreadable", message=message), stubs.NONE)
    decoded = decode(file.data)
    odd = "" if suffix == ".py" else "it is Python source although its name does not end in .py"
    note = "; ".join(part for part in (decoded.note, odd) if part)
    holds = _holds(decoded.text, settings.entry)
    return _Candidate(file.path, [notebook.Cell(0, "code", decoded.text)], note, None, holds)


def _holds(text: str, entry: Entry) -> int:
    return stubs.holds(text, entry) if len(text) <= LONGEST else stubs.NONE


def _reads_like_python(data: bytes) -> bool:
    """Whether something is defined or imported at the left margin."""
    return not disguise(data) and bool(re.search(rb"^(?:def|class|import|from) \w", data[:LONGEST], re.MULTILINE))


def _order(candidate: _Candidate, settings: Settings) -> tuple[int, int, bool, bool, bool, int, str]:
    """Smallest first."""
    path = PurePosixPath(candidate.path)
    wanted = [_plain_name(name) for name in settings.files]
    named = _plain_name(path.name)
    place = wanted.index(named) if named in wanted else len(wanted)
    side = _SIDE.match(path.stem) is not None
    holds = candidate.holds
    if side and named not in wanted:
        holds = min(holds, stubs.STUB)
    altered = path.name.lower() not in {name.lower() for name in settings.files}
    return (-holds, place, side, altered, path.suffix != ".py", candidate.path.count("/"), candidate.path)


def _plain_name(name: str) -> str:
    """A file name without what browsers and learning systems add: "Attention (1).py", "attention-2.py"."""
    stem, dot, suffix = name.lower().rpartition(".")
    return _ADDED.sub("", stem) + dot + suffix


def _choice(best: _Candidate, found: Sequence[_Candidate]) -> list[str]:
    """Says which file was graded when another one could have been."""
    rivals = sorted(
        other.path
        for other in found
        if other is not best
        and other.holds >= max(best.holds, stubs.ALIAS)
        and not _SIDE.match(PurePosixPath(other.path).stem)
    )
    return [f"{best.path} was graded. Not graded, though it holds an answer as well: {name}." for name in rivals[:3]]


def _empty(best: _Candidate, found: Sequence[Unit], entry: Entry) -> Problem | None:
    """Why the chosen file can't be loaded, or None."""
    if sum(len(unit.source) for unit in found) > LONGEST:
        message = (
            f"{best.path} holds more than {LONGEST // 1_000_000} million characters of code. "
            "Hand in only the code that you wrote for this assignment."
        )
        return Problem(kind="unreadable", message=message)
    if any(line.strip() and not line.lstrip().startswith("#") for unit in found for line in unit.source.split("\n")):
        return _unread_cell(best, entry) if best.holds in (stubs.NONE, stubs.SOME) else None
    return _unread_cell(best, entry) or Problem(
        kind="no_code",
        message=f"{best.path} has no code in it. Check that you saved your work and handed in the right file.",
    )


def _unread_cell(best: _Candidate, entry: Entry) -> Problem | None:
    """The function stands in a cell that is not run, and as code: a text that explains it would quote it."""
    for cell in best.cells:
        if cell.kind != "code" and "```" not in cell.source and stubs.holds(cell.source, entry) == stubs.WRITTEN:
            message = (
                f"Cell {cell.number} of {best.path} has the function, but it is a {cell.kind} cell, whose text is "
                "never run. Change the type of the cell to Code, save the notebook, and hand it in again."
            )
            return Problem(kind="no_code", message=message)
    return None


def _nothing(files: Sequence[SourceFile], settings: Settings) -> Problem:
    wanted = " or ".join(settings.files or [f"a {suffix} file" for suffix in settings.accepts])
    if not files:
        return Problem(kind="no_code", message=f"No file was handed in. Hand in {wanted}.")
    names = ", ".join(sorted(PurePosixPath(file.path).name for file in files)[:5])
    if any(file.path.endswith(".pyc") for file in files):
        names += " (Python makes .pyc files itself; hand in the .py file)"
    message = f"Nothing in what you handed in can be graded: {names}. Hand in {wanted}."
    return Problem(kind="no_code", message=message)
