"""The cells of a notebook, from bytes that nobody vouches for. Nothing is compiled, run or believed.

Only each cell's type and source are read: outputs, metadata, kernel and ids steer nothing. Version 4 is read
directly; older versions go through nbformat's own upgrade, which is imported only then (it takes a while).
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any

from grader.entry import Problem

LARGEST = 100_000_000
"""Bytes of a notebook file, outputs included."""
MOST_PARTS = 6_000_000
"""Brackets and commas in the file: an upper bound for the objects it unpacks to."""
MOST_CELLS = 5_000


@dataclass(frozen=True)
class Cell:
    """One cell. `number`: its position among all cells, from 1, as a student counts them."""

    number: int
    kind: str
    """"code", "markdown" or "raw"."""
    source: str


@dataclass(frozen=True)
class Cells:
    """The cells of a notebook, or why there are none."""

    cells: list[Cell]
    problem: Problem | None = None


def looks_like_notebook(data: bytes) -> bool:
    """Whether `data` is a JSON object that mentions cells, whatever the file is called."""
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    return head.startswith(b"{") and (b'"cells"' in data or b'"worksheets"' in data)


def cells(data: bytes, name: str = "The notebook") -> Cells:
    """All cells of a notebook in versions 1 to 4. Never raises on any bytes; `name` is used in messages."""
    if len(data) > LARGEST:
        return _unreadable(
            f"{name} is larger than {LARGEST // 1_000_000} MB. Clear its outputs (in Jupyter: Kernel, Restart and "
            "Clear Output), save it, and hand it in again."
        )
    if not data.strip(b"\xef\xbb\xbf \t\r\n\0"):
        return _unreadable(f"{name} is empty. Save the notebook and hand it in again.")
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MOST_PARTS:
        return _unreadable(f"{name} holds too much data. Clear its outputs, save it, and hand it in again.")
    try:
        # Whole numbers as floats: digits without end would take Python minutes to convert.
        book = json.loads(_text(data), parse_int=float, strict=False)
    except RecursionError:
        return _unreadable(f"{name} is nested too deeply to be a notebook. Download it again and hand that in.")
    except ValueError:
        return _unreadable(_not_json(data, name))
    if not isinstance(book, dict):
        return _unreadable(f"{name} is not a notebook. In Jupyter or Colab, download it as .ipynb.")
    listed = _listed(book)
    if not listed:
        return _unreadable(f"{name} has no cells. Check that the right file was handed in.")
    if len(listed) > MOST_CELLS:
        return _unreadable(f"{name} has more than {MOST_CELLS} cells. Hand in only the cells of this assignment.")
    return Cells(_cells(listed))


def _unreadable(message: str) -> Cells:
    return Cells([], Problem(kind="unreadable", message=message))


def _text(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").lstrip("\ufeff")
    return data.decode("utf-8-sig", "replace")


def _not_json(data: bytes, name: str) -> str:
    start = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        return (
            f"{name} is a web page, not a notebook: the page that shows the notebook was saved. In Colab use "
            "File, Download, Download .ipynb; on GitHub use the Raw or Download button."
        )
    if b"<<<<<<<" in data and b">>>>>>>" in data:
        return f"{name} holds marks of a merge conflict (<<<<<<<). Choose one version, save it, and hand it in again."
    if start.startswith(b"{"):
        return f"{name} is damaged: it ends too early or was edited by hand. Open it, save it, and hand it in again."
    return f"{name} is not a notebook. In Jupyter or Colab, download it as .ipynb and hand that in."


def _listed(book: dict[str, Any]) -> list[Any]:
    """The entries that stand for cells, from whichever version of the format."""
    found = book.get("cells")
    if isinstance(found, list):
        return found
    sheets = book.get("worksheets")
    lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
    old = [cell for cells in lists if isinstance(cells, list) for cell in cells[: MOST_CELLS + 1]]
    return _upgraded(old) if len(old) <= MOST_CELLS else old


def _cells(listed: list[Any]) -> list[Cell]:
    found = []
    for number, cell in enumerate(listed, start=1):
        if isinstance(cell, dict):
            kind = cell.get("cell_type")
            source = next((cell[key] for key in ("source", "input", "code") if key in cell), "")
            found.append(Cell(number, kind if kind in ("code", "markdown", "raw") else "raw", _source(source)))
    return found


def _upgraded(old: list[Any]) -> list[Any]:
    """Cells of version 2 or 3 as nbformat upgrades them. Only types and sources go in; outputs would cost time."""
    cells = []
    for cell in old:
        cell = cell if isinstance(cell, dict) else {"cell_type": "raw"}
        kind = cell.get("cell_type")
        kept: dict[str, Any] = {"cell_type": kind, "metadata": {}}
        if kind == "code":
            source = cell.get("input", cell.get("source"))
            kept.update(input=_source(source), language="python", outputs=[], collapsed=False)
        else:
            kept["cell_type"] = kind if kind in ("markdown", "raw", "html", "heading") else "raw"
            kept.update(source=_source(cell.get("source")), level=1)
        cells.append(kept)
    import nbformat

    sheet = {"metadata": {}, "cells": cells}
    book = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [sheet]}
    log = logging.getLogger("traitlets")
    before, log.disabled = log.disabled, True  # it complains about what is missing, to nobody's use
    try:
        upgraded: Any = nbformat.convert(nbformat.from_dict(book), 4)  # type: ignore[no-untyped-call]
    finally:
        log.disabled = before
    return list(upgraded["cells"])


def _source(value: Any) -> str:
    """A source as one text: a string, or a list of lines, which hand-made files leave without line ends."""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, str)]
        value = ("" if any("\n" in part for part in parts) else "\n").join(parts)
    if not isinstance(value, str):
        return ""
    text = value.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate can't be stored or compiled
