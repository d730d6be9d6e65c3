"""A `Picture` as tables of coloured cells for HTML, and as plain text for Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader.pages.words import Words
from grader.results import Cell, Picture
from grader.text import clean

STEPS = 9
"""Shades of one colour; the style sheet has a class for each: s0 to s9, n1 to n5 below zero, p1 to p5 above."""
SIDE = 5
SUM_TOLERANCE = 5e-3
"""Cells are stored with four digits, so a dozen of them may miss a sum by this much."""

NOISE = 0.02
"""Below this part of the largest number, a difference is drawn as none."""

Shade = tuple[str, str]
"""(classes of the style sheet, text of the cell)"""


@dataclass(frozen=True)
class Panel:
    """One of the tables of a figure."""

    name: str
    """"yours", "expected", "difference" or "mask"."""
    rows: list[list[Shade]]
    sums: list[Shade]
    """One a row, or nothing when sums mean nothing here."""
    low: str = ""
    high: str = ""
    scale: tuple[str, ...] = ()
    """Classes of the colours from low to high."""


@dataclass(frozen=True)
class Figure:
    """A picture, ready to be laid out. Row and column numbers are those of the tensor, counted from 0."""

    title: str
    axes: str
    """What rows and columns are, in words."""
    row_numbers: list[int]
    column_numbers: list[int]
    panels: list[Panel]
    worst: str
    """Which cell is most wrong and what stands there; "" when none is marked."""
    marked: bool
    masked: bool


def figure(picture: Picture, words: Words) -> Figure:
    """Lay out a picture: its tables, the mask, row sums where the expected rows are weights that sum to 1."""
    marks = {(row, column) for row, column in picture.marked}
    first = tuple(picture.marked[0]) if picture.marked else None
    masked = {(row, column) for row, column in picture.masked}
    sums = _are_weights(picture.expected or picture.yours)
    shared = [*picture.yours, *picture.expected]
    panels = []
    for name, table in (("yours", picture.yours), ("expected", picture.expected), ("difference", picture.difference)):
        if table:
            own = name != "expected"
            scale = _Scale([table] if name == "difference" else [shared], signed=name == "difference")
            panels.append(
                Panel(
                    name,
                    _shades(table, scale, marks if own else set(), first if own else None, masked),
                    _sums(table) if sums and name != "difference" else [],
                    *scale.legend(),
                )
            )
    if masked:
        panels.append(Panel("mask", _mask(picture.yours, masked), []))
    return Figure(
        title=clean(picture.title, 200),
        axes=words["picture_numbers"].format(rows=picture.rows, columns=picture.columns),
        row_numbers=list(range(picture.top, picture.top + len(picture.yours))),
        column_numbers=list(range(picture.left, picture.left + max(map(len, picture.yours), default=0))),
        panels=panels,
        worst=_worst(picture, words),
        marked=len(marks) > 1,
        masked=bool(masked),
    )


def cell_text(value: Cell) -> str:
    """A number in about four characters: 0.25, −1.3, 4e−8, NaN, ∞."""
    if isinstance(value, str):
        return {"nan": "NaN", "inf": "∞", "-inf": "−∞"}.get(value, "?")
    size = abs(value)
    if size == 0:
        return "0"
    if 0.005 <= size < 1000:
        text = f"{value:.2f}" if size < 9.995 else f"{value:.0f}"
    else:
        digits, _, power = f"{value:.0e}".partition("e")
        text = f"{digits}e{int(power)}"
    return text.replace("-", "−")


def grid(panel: Panel, row_numbers: Sequence[int], column_numbers: Sequence[int]) -> str:
    """The panel as lines of text: masked cells between dots, the marked ones between brackets."""
    lines = [["", *(f"{number} " for number in column_numbers), *(["Σ"] if panel.sums else [])]]
    for at, row in enumerate(panel.rows):
        cells = [_plain(shade) for shade in row]
        lines.append([str(row_numbers[at]), *cells, *([panel.sums[at][1]] if panel.sums else [])])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = (" ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(row.rstrip() for row in rows)


def _plain(shade: Shade) -> str:
    classes, text = shade
    if " m" in classes or " w" in classes:
        return f"[{text}]"
    return f"·{text}·" if " k" in classes else f" {text} "


class _Scale:
    """From a number to the class that colours it."""

    def __init__(self, tables: list[list[list[Cell]]], *, signed: bool) -> None:
        numbers = [cell for table in tables for row in table for cell in row if isinstance(cell, float | int)]
        self.high = max([*numbers, 0.0])
        self.low = min([*numbers, 0.0])
        self.signed = signed or self.low < 0
        if self.signed:
            self.high = max(self.high, -self.low)
            self.low = -self.high
        elif 0.5 < self.high < 1.0:
            self.high = 1.0  # weights: the same colour means the same weight in every picture

    def shade(self, value: Cell) -> str:
        if isinstance(value, str):
            return "x"
        if not self.high:
            return "s0"
        if not self.signed:
            return f"s{round(STEPS * value / self.high)}"
        part = abs(value) / self.high
        if part < NOISE:
            return "s0"
        return f"{'p' if value > 0 else 'n'}{max(1, round(SIDE * part))}"

    def legend(self) -> tuple[str, str, tuple[str, ...]]:
        if self.signed:
            colours = [f"n{step}" for step in range(SIDE, 0, -1)] + ["s0"] + [f"p{step}" for step in range(1, SIDE + 1)]
        else:
            colours = [f"s{step}" for step in range(STEPS + 1)]
        return cell_text(self.low), cell_text(self.high), tuple(colours)


def _shades(
    table: list[list[Cell]],
    scale: _Scale,
    marks: set[tuple[int, int]],
    first: tuple[int, ...] | None,
    masked: set[tuple[int, int]],
) -> list[list[Shade]]:
    shade = scale.shade
    rows = []
    for i, row in enumerate(table):
        cells = []
        for j, value in enumerate(row):
            classes = shade(value)
            if (i, j) in masked:
                classes += " k"
            if (i, j) in marks:
                classes += " w" if (i, j) == first else " m"
            cells.append((classes, cell_text(value)))
        rows.append(cells)
    return rows


def _mask(like: list[list[Cell]], masked: set[tuple[int, int]]) -> list[list[Shade]]:
    return [
        [("off k", "0") if (i, j) in masked else ("on", "1") for j in range(len(row))] for i, row in enumerate(like)
    ]


def _row_sum(row: list[Cell]) -> float:
    return sum(float(cell) for cell in row)


def _are_weights(table: list[list[Cell]]) -> bool:
    """Every row is a distribution, or NaN or 0 throughout (a query that may look at nothing)."""
    usual = 0
    for row in table:
        total = _row_sum(row)
        if abs(total - 1) < SUM_TOLERANCE and len(row) > 1 and all(isinstance(c, str) or c >= 0 for c in row):
            usual += 1
        elif total == total and total != 0:
            return False
    return usual > 0


def _sums(table: list[list[Cell]]) -> list[Shade]:
    sums = []
    for row in table:
        total = _row_sum(row)
        good = abs(total - 1) < SUM_TOLERANCE
        text = "1" if good else cell_text(total if math.isfinite(total) else str(total))
        sums.append(("sum" if good else "sum off", text))
    return sums


def _worst(picture: Picture, words: Words) -> str:
    if not picture.marked:
        return ""
    row, column = picture.marked[0]
    key = "worst_cell_expected" if picture.expected else "worst_cell"
    return words[key].format(
        rows=picture.rows,
        row=picture.top + row,
        columns=picture.columns,
        column=picture.left + column,
        yours=cell_text(picture.yours[row][column]),
        expected=cell_text(picture.expected[row][column]) if picture.expected else "",
    )
