"""Which of a submission's files is graded, and its source as units that can be compiled one by one.

Runs in the marker, so nothing here compiles, parses or runs what students wrote: files are told apart by name
and by text. The child compiles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from grader import magics, notebook
from grader.assignment import Settings
from grader.decoding import decode, disguise
from grader.entry import Entry, Problem, Unit
from grader.results import SourceText
from grader.submission import SourceFile

LONGEST = 2_000_000
"""Characters of source that are loaded."""
_SHOWN, _SHOWN_EACH = 200_000, 40_000
"""Characters of source that a report shows, in all and of each file or cell."""


@dataclass(frozen=True)
class Sources:
    """What a child loads."""

    units: list[Unit]
    files: dict[str, bytes] = field(default_factory=dict)
    """The submission's other files, and what `%%writefile` wrote: path -> contents."""
    notes: list[str] = field(default_factory=list)
    problem: Problem | None = None
    """Why there is nothing to load; None when there is."""
    main: str = ""
    """Path of the file that is graded."""
    originals: list[Unit] = field(default_factory=list)
    """The same source as the student wrote it, for reports."""


@dataclass(frozen=True)
class _Candidate:
    """A file that may be the one to grade."""

    path: str
    cells: list[notebook.Cell]
    """A .py file is one cell with number 0."""
    note: str
    problem: Problem | None
    rank: int
    """How much of the exercise it holds by its text: 4 the function ... 0 nothing."""


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
    notes = _choice(best, found)
    if best.note:
        notes.append(f"{best.path}: {best.note}.")
    if best.problem is not None:
        return Sources([], others, notes, best.problem, best.path)
    result = Sources([], others, notes, None, best.path)
    for cell in best.cells:
        if cell.kind != "code":
            continue
        number = cell.number or None
        plain = magics.plain_cell(cell.source) if number else magics.plain_file(cell.source)
        result.originals.append(Unit(best.path, number, cell.source))
        for path, data in plain.files.items():
            result.files[path] = result.files.get(path, b"") + data if plain.appends else data
        if plain.left_out:
            at = f"cell {number}" if number else best.path
            result.notes.append(f"Left out of {at}: {', '.join(plain.left_out[:5])}.")
        if plain.source.strip():
            result.units.append(Unit(best.path, number, plain.source))
    problem = _empty(best, result.units, settings.entry)
    return result if problem is None else Sources([], others, notes, problem, best.path, result.originals)


def texts(sources: Sources, settings: Settings) -> list[SourceText]:
    """The graded source as the student wrote it, then their other source files; cut to what a page can show."""
    pieces = [(unit.file, unit.cell, unit.source) for unit in sources.originals]
    for path, data in sources.files.items():
        if path.endswith(".py") and not disguise(data):
            pieces.append((path, None, decode(data[:_SHOWN]).text))
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


def _candidate(file: SourceFile, settings: Settings) -> _Candidate | None:
    """A file as a candidate, by what it holds rather than by what it is called; None for other files."""
    name = PurePosixPath(file.path).name
    suffix = PurePosixPath(name).suffix.lower()
    if name.startswith("._") or "__MACOSX" in file.path or ".ipynb_checkpoints" in file.path:
        return None
    if notebook.looks_like_notebook(file.data) or (suffix == ".ipynb" and not _python_text(file.data)):
        if suffix not in (".ipynb", ".py", ".json", ".txt", ""):
            return None
        cells = notebook.cells(file.data, name)
        note = "" if suffix == ".ipynb" else f"it is a notebook although its name ends in {suffix or 'nothing'}"
        return _Candidate(file.path, cells.cells, note, cells.problem, _rank(cells.cells, settings.entry))
    if suffix not in settings.accepts and not (suffix in (".txt", "", ".ipynb") and _python_text(file.data)):
        return None
    what = disguise(file.data)
    if what:
        message = f"{name} is {what}, not a Python file. Hand in the .py or .ipynb file itself."
        return _Candidate(file.path, [], "", Problem(kind="unreadable", message=message), 0)
    decoded = decode(file.data)
    note = decoded.note
    if suffix not in (".py", "") and suffix in (".txt", ".ipynb"):
        note = "; ".join(filter(None, [note, f"it is Python source although its name ends in {suffix}"]))
    cells_ = [notebook.Cell(0, "code", decoded.text)]
    return _Candidate(file.path, cells_, note, None, _rank(cells_, settings.entry))


def _python_text(data: bytes) -> bool:
    """Whether `data` reads like Python source: it defines or imports something at the left margin."""
    return not disguise(data) and bool(re.search(rb"^(def|class|import|from) \w", data, re.MULTILINE))


def _rank(cells: Sequence[notebook.Cell], entry: Entry) -> int:
    """4 the entry function, written; 3 something that may be meant as it; 2 its stub; 1 any function; 0 none."""
    text = "\n".join(cell.source for cell in cells if cell.kind == "code")
    bodies = re.split(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry.function)}\b", text, flags=re.MULTILINE)[1:]
    if any(not _is_stub(body) for body in bodies) or re.search(
        rf"^(?:{re.escape(entry.function)}[ \t]*=|from\s.*\bimport\b.*\b{re.escape(entry.function)}\b)",
        text,
        re.MULTILINE,
    ):
        return 4
    aliases = "|".join(map(re.escape, entry.aliases)) or r"\b\B"
    if re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+(?:{aliases})\b", text, re.MULTILINE | re.IGNORECASE):
        return 3
    if bodies:
        return 2
    return 1 if re.search(r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]", text, re.MULTILINE) else 0


def _is_stub(body: str) -> bool:
    """Whether the text after `def name` has nothing but texts, comments, pass, ... and NotImplementedError."""
    head = re.match(r"(?:[^\n]*,[ \t]*\n)*[^\n]*?:[ \t]*(?=\n|$|#)", body)
    rest = body[head.end() :] if head else body
    block = re.match(
        r"(?:[ \t]*(?:#[^\n]*)?\n|[ \t]+[^\n]*(?:\n|$)|[ \t]*#[^\n]*$)*", rest.lstrip("\n") if head else rest
    )
    code = block[0] if block else rest
    code = re.sub(r'""".*?"""|\'\'\'.*?\'\'\'', "", code, flags=re.DOTALL)
    code = re.sub(r"#[^\n]*", "", code)
    code = re.sub(r"raise\s+NotImplementedError(\s*\([^)]*\))?|\bpass\b|\.\.\.", "", code)
    return not code.strip()


def _order(candidate: _Candidate, settings: Settings) -> tuple[int, int, bool, bool, int, str]:
    """Smallest first."""
    path = PurePosixPath(candidate.path)
    named = _plain_name(path.name)
    wanted = [_plain_name(name) for name in settings.files]
    place = wanted.index(named) if named in wanted else len(wanted)
    side = bool(re.match(r"(test_|conftest|setup\.)|.*(_test|old|backup|copy|example)\b", path.stem, re.IGNORECASE))
    rank = candidate.rank
    if rank == 4 and place == len(wanted) and side:
        rank = 2
    return (-rank, place, side, path.suffix != ".py", candidate.path.count("/"), candidate.path)


def _plain_name(name: str) -> str:
    """A file name without what browsers and learning systems add: "Attention (1).py", "attention-2.py"."""
    stem, dot, suffix = name.lower().rpartition(".")
    return re.sub(r"(\s*\(\d+\)|-\d+|[\s_-]*copy)+$", "", stem) + dot + suffix


def _choice(best: _Candidate, found: Sequence[_Candidate]) -> list[str]:
    """Says which file was graded when another one could have been."""
    rivals = [other.path for other in found if other is not best and other.rank >= min(best.rank, 3)]
    if not rivals:
        return []
    return [f"{best.path} was graded; {', '.join(sorted(rivals)[:5])} also holds an answer and was not."]


def _empty(best: _Candidate, found: Sequence[Unit], entry: Entry) -> Problem | None:
    """Why there is no code in the chosen file, or None."""
    code = any(line.strip() and not line.lstrip().startswith("#") for unit in found for line in unit.source.split("\n"))
    if sum(len(unit.source) for unit in found) > LONGEST:
        message = (
            f"{best.path} holds more than {LONGEST // 1_000_000} million characters of code. "
            "Hand in your own code only."
        )
        return Problem(kind="unreadable", message=message)
    if code:
        return None
    for cell in best.cells:
        if cell.kind != "code" and f"def {entry.function}" in cell.source:
            message = (
                f"Cell {cell.number} of {best.path} has the function, but it is a {cell.kind} cell, whose text is not "
                "run. Change its type to Code, save the notebook, and hand it in again."
            )
            return Problem(kind="no_code", message=message)
    message = f"{best.path} has no code in it. Check that you saved your work and handed in the right file."
    return Problem(kind="no_code", message=message)


def _nothing(files: Sequence[SourceFile], settings: Settings) -> Problem:
    wanted = " or ".join(settings.files or [f"a {suffix} file" for suffix in settings.accepts])
    if not files:
        return Problem(kind="no_code", message=f"No file was handed in. Hand in {wanted}.")
    names = ", ".join(sorted(PurePosixPath(file.path).name for file in files)[:5])
    if any(file.path.endswith(".pyc") for file in files):
        names += " (a .pyc file is made by Python; the .py file beside it is the one to hand in)"
    return Problem(
        kind="no_code", message=f"There is no Python file or notebook in what you handed in: {names}. Hand in {wanted}."
    )
