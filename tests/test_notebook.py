"""Reading notebooks: caps and odd shapes that no file of the corpus should have to hold."""

from __future__ import annotations

import json
import logging
import warnings

import pytest
from loading import CORPUS

from grader.reading import notebook
from grader.reading.notebook import cells


def book(*sources: object, **keys: object) -> bytes:
    listed = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": listed, **keys}).encode()


def test_cells_are_numbered_as_students_count_them() -> None:
    """The number counts every cell, text cells too, from 1."""
    found = cells((CORPUS / "notebooks/otter.ipynb").read_bytes()).cells
    assert [(cell.number, cell.kind) for cell in found][:3] == [(1, "code"), (2, "raw"), (3, "code")]


def test_reading_agrees_with_nbformat() -> None:
    """For ordinary notebooks of version 3 and 4 the code is exactly what nbformat reads."""
    import nbformat

    for name in ("colab", "nbgrader", "otter", "magics", "version3", "training_loop"):
        data = (CORPUS / f"notebooks/{name}.ipynb").read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = nbformat.reads(data.decode(), as_version=4).cells
        assert [(cell.kind, cell.source) for cell in cells(data).cells] == [
            (cell.cell_type, cell.source) for cell in theirs
        ]


def test_old_notebooks_raise_no_warning_and_log_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade from version 2 or 3 is silent, whatever is missing in the file."""
    heard: list[logging.LogRecord] = []
    monkeypatch.setattr(logging.Logger, "handle", lambda _, record: heard.append(record))
    old = {"worksheets": [{"cells": [{"cell_type": "code"}, {"cell_type": "heading", "source": 3}, None]}, 4]}
    found = cells(json.dumps(old).encode())
    assert [cell.kind for cell in found.cells] == ["code", "markdown", "raw"]
    assert heard == []


def test_fifty_megabytes_of_outputs_are_no_obstacle() -> None:
    """Saved pictures are skipped."""
    picture = b'{"output_type": "display_data", "data": {"image/png": "' + b"A" * 1_000_000 + b'"}, "metadata": {}}'
    cell = b'{"cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [' + b",".join([picture] * 50) + b"]}"
    data = b'{"nbformat": 4, "metadata": {}, "cells": [' + cell + b"]}"
    assert [cell.source for cell in cells(data).cells] == ["x = 1"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"cells": ' + b'{"a":' * 100_000, "nested too deeply"),
        (b'{"cells": [' + b"[]," * 3_100_000 + b"[]]}", "too much data"),
        (b"{" + b" " * notebook.LARGEST + b"}", "larger than 100 MB"),
        (b'{"cells": [' + b'{"cell_type": "code"},' * 6000 + b"{}]}", "more than 5000 cells"),
        (b'{"cells": {"a": 1}}', "has no cells"),
        (b'{"cells": [', "is damaged"),
        (b"\xff\xfe\x00", "is not a notebook"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b"null", "is not a notebook"),
        (b"%PDF-1.7", "is not a notebook"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bytes_that_are_no_notebook_are_explained(data: bytes, words: str) -> None:
    """Hostile and broken files end in one message with the mend, quickly."""
    found = cells(data, "a.ipynb")
    assert found.cells == []
    assert found.problem is not None
    assert found.problem.kind == "unreadable"
    assert words in found.problem.message


@pytest.mark.parametrize("source", [None, 3, {}, [None, 1], [["x"]], True])
def test_a_source_of_another_type_is_empty(source: object) -> None:
    """A cell whose source is no text counts as a cell without code."""
    assert [cell.source for cell in cells(book(source, "y = 2")).cells] == ["", "y = 2"]


def test_numbers_without_end_are_read() -> None:
    """A million digits are no error; converting them to a whole number would take Python minutes or fail."""
    assert cells(book("x = 1", nbformat_minor=1)[:-1] + b', "n": ' + b"9" * 1_000_000 + b"}").problem is None


def test_text_in_a_cell_is_made_storable() -> None:
    """Line ends are one kind, NUL goes, half a surrogate pair can be encoded."""
    [cell] = cells(book("a\r\nb\rc\0\ud800")).cells
    assert cell.source == "a\nb\nc?"


def test_a_raw_line_break_inside_a_text_is_accepted() -> None:
    """Hand-edited files have real line breaks where JSON wants an escape."""
    assert cells(b'{"cells": [{"cell_type": "code", "source": "a\nb"}]}').cells[0].source == "a\nb"
