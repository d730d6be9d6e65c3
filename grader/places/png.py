"""A figure as a small picture, for places that show pictures but no tables: one square a cell, panels side by side."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from itertools import chain

from grader.pages.heatmap import SIDE, STEPS, Figure, Panel, Shade

CELL = 14
"""Pixels of a cell's side."""
GAP = 10
Colour = tuple[int, int, int]
PAPER: Colour = (255, 255, 255)
GRID: Colour = (200, 200, 200)
HIDDEN: Colour = (150, 150, 150)
WORST: Colour = (0, 0, 0)
ODD: Colour = (255, 0, 255)
"""NaN and infinities."""
DEEPEST = {"s": (8, 48, 107), "n": (33, 102, 172), "p": (178, 24, 43)}
"""The colour of the largest number of each scale: plain, below zero, above zero."""


def data_url(figure: Figure) -> str:
    """The figure's panels as a PNG in a data: address."""
    return "data:image/png;base64," + base64.b64encode(png(drawn(figure.panels))).decode()


def drawn(panels: Sequence[Panel]) -> list[list[Colour]]:
    """Rows of pixels."""
    pictures = [_panel(panel.rows) for panel in panels if panel.rows]
    height = max((len(picture) for picture in pictures), default=1)
    rows: list[list[Colour]] = []
    for y in range(height):
        row: list[Colour] = []
        for picture in pictures:
            width = len(picture[0])
            row += (picture[y] if y < len(picture) else [PAPER] * width) + [PAPER] * GAP
        rows.append(row or [PAPER])
    return rows


def png(rows: Sequence[Sequence[Colour]]) -> bytes:
    """Rows of equal length as an 8-bit RGB PNG (RFC 2083)."""
    raw = b"".join(b"\0" + bytes(chain.from_iterable(row)) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def colour(classes: str) -> Colour:
    """The colour that the style sheet's classes of a cell stand for."""
    first = classes.partition(" ")[0]
    if first in ("x", "off", "on"):
        return {"x": ODD, "off": HIDDEN, "on": PAPER}[first]
    part = int(first[1:]) / (STEPS if first[0] == "s" else SIDE)
    red, green, blue = (round(255 + (deep - 255) * part) for deep in DEEPEST[first[0]])
    return red, green, blue


def _panel(rows: Sequence[Sequence[Shade]]) -> list[list[Colour]]:
    lines: list[list[Colour]] = []
    for row in rows:
        cells = [_cell(classes.split()) for classes, _ in row]
        lines += [[pixel for cell in cells for pixel in cell[y]] for y in range(CELL)]
    return lines


def _cell(classes: list[str]) -> list[list[Colour]]:
    inside = colour(classes[0])
    edge = WORST if {"w", "m"} & set(classes) else GRID
    square = [[edge] * CELL, *([edge, *[inside] * (CELL - 2), edge] for _ in range(CELL - 2)), [edge] * CELL]
    if "k" in classes:  # a stroke through what the mask hides
        for at in range(2, CELL - 2):
            square[at][at] = HIDDEN
    return square
