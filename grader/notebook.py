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
MOST_PARTS = 12_000_000
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
    found = _cells(book)
    if not found:
        return _unreadable(f"{name} has no cells. Check that the right file was handed in.")
    if len(found) > MOST_CELLS:
        return _unreadable(f"{name} has more than {MOST_CELLS} cells. Hand in only the cells of this assignment.")
    return Cells([cell for cell in found if cell.kind])


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


def _cells(book: dict[str, Any]) -> list[Cell]:
    """The cells in order, numbered; kind "" for an entry that is no cell at all."""
    if "worksheets" in book and not isinstance(book.get("cells"), list):
        book = _upgraded(book)
    raw = book.get("cells")
    found = []
    for number, cell in enumerate(raw if isinstance(raw, list) else [], start=1):
        if isinstance(cell, dict):
            kind = cell.get("cell_type")
            source = next((cell[key] for key in ("source", "input", "code") if key in cell), "")
            known = kind if kind in ("code", "markdown", "raw") else "raw"
            found.append(Cell(number, known, _source(source)))
        else:
            found.append(Cell(number, "", ""))
    return found


def _upgraded(book: dict[str, Any]) -> dict[str, Any]:
    """A notebook of version 2 or 3 as version 4. Only types and sources go in; outputs would only cost time."""
    cells: list[dict[str, Any]] = []
    sheets = book.get("worksheets")
    for sheet in sheets if isinstance(sheets, list) else []:
        listed = sheet.get("cells") if isinstance(sheet, dict) else None
        for cell in listed if isinstance(listed, list) else []:
            if not isinstance(cell, dict):
                continue
            if cell.get("cell_type") == "code":
                kept = {"input": _source(cell.get("input", cell.get("source"))), "language": "python", "outputs": []}
            else:
                kept = {"source": _source(cell.get("source"))}
            kind = cell.get("cell_type")
            kind = kind if kind in ("code", "markdown", "raw", "html", "heading") else "raw"
            cells.append({"cell_type": kind, "metadata": {}, **({"level": 1} if kind == "heading" else {}), **kept})
    import nbformat

    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    old = nbformat.from_dict(  # type: ignore[no-untyped-call]  # it ships no types
        {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"metadata": {}, "cells": cells}]}
    )
    return dict(nbformat.convert(old, 4))  # type: ignore[no-untyped-call]


def _source(value: Any) -> str:
    """A source as one text: a string, or a list of lines, which hand-made files leave without line ends."""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, str)]
        value = ("" if any("\n" in part for part in parts) else "\n").join(parts)
    if not isinstance(value, str):
        return ""
    text = value.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate can't be stored or compiled
