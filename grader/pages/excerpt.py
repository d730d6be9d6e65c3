"""The student's own code with the lines that matter marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grader.pages.words import Words
from grader.results import Place, SourceText
from grader.text import clean

AROUND = 2
"""Lines shown before and after a marked one in an excerpt."""
LONGEST_LINE = 200
MOST_LINES = 400
"""Of one report; of longer work only the surroundings of the marked lines are shown."""


class Line(NamedTuple):
    """A line of code; a tuple, which templates take apart for less than they ask an object for its parts."""

    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class Block:
    """Consecutive lines of one file or notebook cell."""

    file: str
    cell: int | None
    lines: list[Line]

    def label(self, words: Words) -> str:
        """The file's name, and for a notebook which cell."""
        return self.file if self.cell is None else words["code_cell"].format(file=self.file, cell=self.cell)

    @property
    def text(self) -> str:
        """Numbered lines, the marked ones with an arrow: for formats without colour."""
        width = len(str(self.lines[-1].number)) if self.lines else 1
        return "\n".join(f"{'▶' if n.marked else ' '} {n.number:>{width}}  {n.text}" for n in self.lines)


class Code:
    """The sources of one submission, split into clean lines once."""

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._lines: dict[tuple[str, int | None], list[str]] = {}
        for source in sources:
            lines = clean(source.text, 400_000).split("\n")
            self._lines[source.file, source.cell] = lines[:-1] if lines[-1] == "" else lines

    def around(self, place: Place | None) -> Block | None:
        """The line with its neighbours; the line alone when the source is not there; None without a place."""
        if place is None:
            return None
        lines = self._lines.get((place.file, place.cell), [])
        file = clean(place.file, 200)
        if not 1 <= place.line <= len(lines):
            text = clean(place.text, LONGEST_LINE).partition("\n")[0]
            return Block(file, place.cell, [Line(place.line, text, True)]) if text else None
        first = max(1, place.line - AROUND)
        last = min(len(lines), place.line + AROUND)
        return Block(file, place.cell, _numbered(lines[first - 1 : last], first, {place.line}))

    def whole(self, places: Iterable[Place]) -> tuple[list[Block], bool]:
        """All the code with the places marked, and whether some of it was left out because it is very long."""
        marks: dict[tuple[str, int | None], set[int]] = {}
        for place in places:
            marks.setdefault((place.file, place.cell), set()).add(place.line)
        blocks: list[Block] = []
        room = MOST_LINES
        for (file, cell), lines in self._lines.items():
            marked = marks.get((file, cell), set())
            if len(lines) > room and marked:
                first = max(1, min(marked) - 20)
                shown = lines[first - 1 : first - 1 + max(room, 60)]
            else:
                first, shown = 1, lines[:room]
            room = max(0, room - len(shown))
            if shown:
                blocks.append(Block(clean(file, 200), cell, _numbered(shown, first, marked)))
        return blocks, sum(len(block.lines) for block in blocks) < sum(map(len, self._lines.values()))


def _numbered(lines: Sequence[str], first: int, marked: set[int]) -> list[Line]:
    return [
        Line(number, text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…", number in marked)
        for number, text in enumerate(lines, first)
    ]
