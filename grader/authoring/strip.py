"""From a master's cell to what a student receives of it: solutions out, stubs in, nothing leaks.

Each dialect keeps its own rules: the `### BEGIN SOLUTION` regions of this grader, nbgrader's (which match anywhere
in a line), and otter's (`# SOLUTION` lines, prompts, ignored lines).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.authoring.cells import STAFF, Cell
from grader.errors import AssignmentError

STUB = 'raise NotImplementedError("Write your code here and remove this line.")'

_REGION = re.compile(r"\s*#+\s*(BEGIN|END)\s+SOLUTION\s*")
_NBGRADER = re.compile(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)")
_OTTER_EDGE = re.compile(r"\s*# (BEGIN|END) (SOLUTION|SOLUTION NO PROMPT|IGNORE)\s*", re.IGNORECASE)
_OTTER_PROMPT = re.compile(r'\s*"""\s*;?\s*# (BEGIN|END) PROMPT\s*', re.IGNORECASE)
_OTTER_LINE = re.compile(r"#\s*(SOLUTION NO PROMPT|SOLUTION|SEED|IGNORE)\s*$", re.IGNORECASE)
_ASSIGNED = re.compile(r"(\s*[\w.\[\], :'\"]*?[\w\])](?:\s*:[^=]+)?\s*=)(?!=)")
_LEFT_OVER = re.compile(
    r"#.*\b(BEGIN|END)\s+(SOLUTION|HIDDEN|TESTS?|MARK SCHEME|PROMPT|IGNORE)|#\s*(HIDDEN|SOLUTION|(HASHED )?AUTOTEST)\b"
)


@dataclass(frozen=True)
class Stripped:
    """A cell as a student receives it."""

    cell: Cell
    source: str


@dataclass(frozen=True)
class _Line:
    """A line of the master and what becomes of it."""

    number: int
    text: str
    """What the student gets."""
    secret: bool = False
    """The line is part of the solution or of a hidden test, and the student gets none of it."""


def strip(cells: Iterable[Cell]) -> list[Stripped]:
    """The cells that students receive, without solutions and hidden tests.

    Raises AssignmentError naming file, cell and line: a region that is not closed, closed twice or nested; a
    marker that no rule of the dialect removes; a line of a solution that stands somewhere else as well.
    """
    pieces = _pieces(cells)
    _refuse_left_overs(pieces)
    hidden = _hidden(pieces)
    result = []
    for cell, lines in pieces:
        shown = [line for line in lines if not line.secret]
        for line in shown if cell.kind == "code" else ():
            if place := hidden.get(_substance(line.text)):
                raise AssignmentError(f"{cell.place(line.number)}: {_gives_away(place)}")
        source = "\n".join(line.text for line in shown)
        if source.strip() or len(shown) == len(lines):
            result.append(Stripped(cell, source))
    return result


def refuse_leaks(path: Path, cells: Iterable[Cell]) -> None:
    """Raise AssignmentError, naming the line, when the file at `path` holds a line of a solution in `cells`."""
    hidden = _hidden(_pieces(cells))
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if place := hidden.get(_substance(line)):
            raise AssignmentError(f"{path}, line {number}: {_gives_away(place)}")


def _pieces(cells: Iterable[Cell]) -> list[tuple[Cell, list[_Line]]]:
    pieces = [(cell, list(_RULES[cell.dialect](cell))) for cell in cells if not _staff_only(cell)]
    return [(cell, lines) for cell, lines in pieces if lines]


def _hidden(pieces: list[tuple[Cell, list[_Line]]]) -> dict[str, str]:
    """What each line of a solution or hidden test comes down to, and where it stands."""
    found: dict[str, str] = {}
    for cell, lines in pieces:
        for line in lines:
            if line.secret and (text := _substance(line.text)):
                found.setdefault(text, cell.place(line.number))
    return found


def _gives_away(place: str) -> str:
    return (
        f"this line would give the solution away: the same one is in the solution at {place}. "
        "Write it in another way, or move it into the solution."
    )


def _staff_only(cell: Cell) -> bool:
    block = cell.role.edge is not None or (cell.role.tests and cell.dialect == "otter")
    return STAFF in cell.tags or block or cell.kind == "raw"


def _lines(cell: Cell) -> list[tuple[int, str]]:
    return list(enumerate(cell.source.split("\n"), 1))


def _regions(
    cell: Cell, edge: Callable[[str], tuple[str, str] | None], stub: Callable[[str, str], list[str]]
) -> Iterator[_Line]:
    """Replace each region; `edge` reads a line as ("BEGIN" | "END", what), `stub` gives what stands in for it."""
    opened: tuple[int, str] | None = None
    for number, text in _lines(cell):
        found = edge(text)
        if found is None:
            yield _Line(number, text, secret=opened is not None)
            continue
        kind, what = found
        if kind == "BEGIN" and opened is None:
            opened = (number, what)
            indent = text[: len(text) - len(text.lstrip())]
            yield from (_Line(number, indent + line) for line in stub(indent, what))
        elif kind == "END" and opened is not None and opened[1] == what:
            opened = None
        elif kind == "END":
            raise AssignmentError(f"{cell.place(number)}: END {what} without its BEGIN {what} above. Remove it.")
        else:
            raise AssignmentError(
                f"{cell.place(number)}: BEGIN {what} inside the region that began at line "
                f"{cell.line + (opened[0] if opened else number) - 1}. Close that one first."
            )
    if opened is not None:
        raise AssignmentError(f"{cell.place(opened[0])}: BEGIN {opened[1]} is not closed. Add END {opened[1]}.")


def _percent(cell: Cell) -> Iterator[_Line]:
    def edge(text: str) -> tuple[str, str] | None:
        match = _REGION.fullmatch(text)
        return (match[1], "SOLUTION") if match else None

    def stub(indent: str, what: str) -> list[str]:
        if cell.kind == "markdown":
            return ["*Write your answer here.*"]
        return [STUB] if indent else ["...  # Write your code here."]

    return _regions(cell, edge, stub)


def _nbgrader(cell: Cell) -> Iterator[_Line]:
    words = ["YOUR ANSWER HERE"] if cell.kind == "markdown" else ["# YOUR CODE HERE", "raise NotImplementedError()"]
    marks = [(number, match) for number, text in _lines(cell) if (match := _NBGRADER.search(text))]
    for number, match in marks:
        allowed = {"SOLUTION": cell.role.solution, "HIDDEN TESTS": cell.role.tests}.get(match[2], True)
        if not allowed:
            kind = "an answer" if match[2] == "SOLUTION" else "a test"
            raise AssignmentError(
                f"{cell.place(number)}: {match[0]} in a cell that is not {kind} cell for nbgrader. "
                "Mark the cell in nbgrader's toolbar, or move the region."
            )
    if cell.role.solution and not any(match[2] == "SOLUTION" for _, match in marks):
        yield from (_Line(1, word) for word in words)
        yield from (_Line(number, text, secret=True) for number, text in _lines(cell))
        return

    def edge(text: str) -> tuple[str, str] | None:
        match = _NBGRADER.search(text)
        return (match[1], match[2]) if match else None

    def stub(indent: str, what: str) -> list[str]:
        return words if what == "SOLUTION" else []

    yield from _regions(cell, edge, stub)


def _otter(cell: Cell) -> Iterator[_Line]:
    if cell.kind == "markdown":
        if cell.role.solution:
            yield _Line(1, "_Type your answer here, replacing this text._")
            yield from (_Line(number, text, secret=True) for number, text in _lines(cell))
        else:
            yield from (_Line(number, text) for number, text in _lines(cell))
        return
    if cell.role.replaced or re.fullmatch(r"\s*#\s*IGNORE\s*", cell.source.split("\n")[0], re.IGNORECASE):
        yield from (_Line(number, text, secret=True) for number, text in _lines(cell))
        return

    def edge(text: str) -> tuple[str, str] | None:
        match = _OTTER_EDGE.fullmatch(text)
        return (match[1].upper(), match[2].upper().removesuffix(" NO PROMPT")) if match else None

    no_prompt = {number for number, text in _lines(cell) if text.upper().rstrip().endswith("BEGIN SOLUTION NO PROMPT")}
    lines = list(_regions(cell, edge, lambda indent, what: ["..."] if what == "SOLUTION" else []))
    changed = False
    for line in lines:
        if line.number in no_prompt:
            changed = True
        elif _OTTER_PROMPT.fullmatch(line.text) and not line.secret:
            changed = True  # the lines that open and close the string around a prompt
        elif not line.secret and (match := _OTTER_LINE.search(line.text)):
            changed = True
            yield from _otter_line(line, match)
        else:
            changed = changed or line.secret
            yield line
    if cell.role.solution and not changed and cell.source.strip():
        raise AssignmentError(
            f"{cell.place()}: a cell in a SOLUTION block with no '# SOLUTION' line would be given away whole. "
            "Mark its lines, or put '# BEGIN SOLUTION' and '# END SOLUTION' around them."
        )


def _otter_line(line: _Line, match: re.Match[str]) -> Iterator[_Line]:
    """One line that ends in a marker: `x = f(y)  # SOLUTION` leaves `x = ...`."""
    if match[1].upper() == "SOLUTION":
        assigned = _ASSIGNED.match(line.text)
        indent = line.text[: len(line.text) - len(line.text.lstrip())]
        yield _Line(line.number, f"{assigned[1]} ..." if assigned else f"{indent}...")
    yield _Line(line.number, line.text[: match.start()], secret=True)


_RULES: dict[str, Callable[[Cell], Iterator[_Line]]] = {
    "percent": _percent,
    "nbgrader": _nbgrader,
    "otter": _otter,
}


def _refuse_left_overs(pieces: list[tuple[Cell, list[_Line]]]) -> None:
    for cell, lines in pieces:
        for line in lines if cell.kind == "code" else ():
            if not line.secret and _LEFT_OVER.search(line.text):
                raise AssignmentError(
                    f"{cell.place(line.number)}: '{line.text.strip()}' would reach students: no rule for "
                    f"{cell.dialect} masters removes it. Correct the marker, or remove the line."
                )


def _substance(line: str) -> str:
    """The line without spaces and comment, or "" when it says too little to give anything away."""
    text = re.sub(r"\s+", "", line.split("  #")[0])
    trivial = text.endswith(":") or text.startswith(("#", "import", "from", "...", "raiseNotImplementedError"))
    return "" if trivial or len(text) < 12 else text
