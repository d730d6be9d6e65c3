"""Which file is graded, and how it is read."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import CORPUS, ENTRY, SETTINGS, files_at, texts_as_files

from grader.reading import decoding, stubs
from grader.reading.source import LONGEST, texts, units
from grader.submission import SourceFile

DONE = "import torch\ndef scaled_dot_product_attention(Q, K, V, mask=None):\n    return Q, K\n"
STUB = 'def scaled_dot_product_attention(Q, K, V, mask=None):\n    """Do it."""\n    raise NotImplementedError\n'


def notebook(*sources: str) -> str:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells})


@pytest.mark.parametrize(
    ("files", "main"),
    [
        ({"attention.py": DONE}, "attention.py"),
        ({"helpers.py": "x = 1", "attention.py": DONE}, "attention.py"),
        ({"attention.py": STUB, "attention.ipynb": notebook(DONE)}, "attention.ipynb"),
        ({"attention.py": DONE, "attention.ipynb": notebook(STUB)}, "attention.py"),
        ({"attention.py": DONE, "attention.ipynb": notebook(DONE)}, "attention.py"),
        ({"attention.py": STUB, "my_solution.py": DONE}, "my_solution.py"),
        ({"attention (1).py": DONE, "zzz.py": DONE}, "attention (1).py"),
        ({"attention-2.py": DONE, "attention.py": DONE}, "attention.py"),
        ({"Attention.PY": DONE, "a.py": DONE}, "Attention.PY"),
        ({"src/deep/model.py": DONE, "src/model.py": DONE}, "src/model.py"),
        ({"main.py": "from model import scaled_dot_product_attention", "model.py": DONE}, "model.py"),
        ({"a_old.py": DONE, "b.py": DONE}, "b.py"),
        ({"a_old.py": DONE}, "a_old.py"),
        ({"test_attention.py": DONE, "solution.py": "def attention(a, b, c):\n    return 1"}, "solution.py"),
        ({"__MACOSX/._attention.py": "x", "work.py": DONE}, "work.py"),
        ({".ipynb_checkpoints/attention-checkpoint.ipynb": notebook(DONE), "w.ipynb": notebook(DONE)}, "w.ipynb"),
        ({"attention.ipynb.json": notebook(DONE)}, "attention.ipynb.json"),
        ({"attention": DONE}, "attention"),
        ({"notes.txt": "I think that class from 3 to 4", "x.py": "y = 1"}, "x.py"),
        ({"data.json": '{"cells": 3}', "x.py": DONE}, "x.py"),
        ({"report.pdf": "%PDF", "x.py": DONE}, "x.py"),
    ],
)
def test_the_file_that_holds_the_work_is_graded(files: dict[str, str], main: str) -> None:
    """A finished function counts more than the file's name, and the name more than its place."""
    assert units(texts_as_files(files), SETTINGS).main == main


def test_a_second_answer_is_named() -> None:
    """Nobody has to guess which of two files was graded."""
    found = units(texts_as_files({"attention.py": DONE, "other.py": DONE, "test_x.py": DONE}), SETTINGS)
    assert found.notes == ["attention.py was graded. Not graded, though it holds an answer as well: other.py."]
    assert found.choice == found.notes
    assert sorted(found.files) == ["other.py", "test_x.py"]


@pytest.mark.parametrize(
    ("files", "kind", "words"),
    [
        ({}, "no_code", "No file was handed in. Hand in attention.py or attention.ipynb."),
        ({"a.pdf": "%PDF-1.4", "b.docx": "PK"}, "no_code", "a.pdf, b.docx"),
        ({"attention.pyc": "\x00"}, "no_code", "hand in the .py file"),
        ({"attention.py": "%PDF-1.4"}, "unreadable", "a PDF document"),
        ({"attention.py": "x = 1\n" * (LONGEST // 6 + 1)}, "unreadable", "2 million characters"),
        ({"attention.ipynb": notebook("%%bash\nls")}, "no_code", "no code in it"),
    ],
)
def test_nothing_to_grade_is_explained(files: dict[str, str], kind: str, words: str) -> None:
    """One problem: what was found and what to hand in."""
    found = units(texts_as_files(files), SETTINGS)
    assert found.units == []
    assert found.problem is not None
    assert found.problem.kind == kind
    assert words in found.problem.message


def test_only_accepted_kinds_are_graded() -> None:
    """An assignment that takes notebooks alone says so."""
    only = msgspec.structs.replace(SETTINGS, accepts=(".ipynb",), files=[])
    found = units(texts_as_files({"attention.py": DONE}), only)
    assert found.problem is not None
    assert found.problem.message.endswith("Hand in a .ipynb file.")
    assert units(texts_as_files({"attention.py": DONE, "b.ipynb": notebook(STUB)}), only).main == "b.ipynb"


def test_written_files_lie_beside_the_notebook_and_nowhere_else() -> None:
    """`%%writefile` adds, appends and replaces, but never where a folder or file of another kind is."""
    book = notebook(
        "%%writefile a.py\nx = 1",
        "%%writefile -a a.py\ny = 2",
        "%%writefile ../../b.py\nz = 3",
        "%%writefile data.csv/inside.py\nno = 1",
        "%%writefile lib\nno = 1",
        DONE,
    )
    found = units(texts_as_files({"w.ipynb": book, "data.csv": "1", "lib/c.py": ""}), SETTINGS)
    assert found.files == {"data.csv": b"1", "lib/c.py": b"", "a.py": b"x = 1\ny = 2\n", "b.py": b"z = 3\n"}
    assert [unit.cell for unit in found.units] == [6]


def test_a_function_in_a_written_file_is_the_work() -> None:
    """A notebook that only writes the file that was asked for is graded by that file."""
    found = units(texts_as_files({"w.ipynb": notebook(f"%%writefile attention.py\n{DONE}", "print(1)")}), SETTINGS)
    assert [(unit.file, unit.cell) for unit in found.units] == [("w.ipynb", 2), ("attention.py", None)]
    book = notebook(f"%%writefile attention.py\n{DONE}", "from attention import scaled_dot_product_attention")
    assert [unit.cell for unit in units(texts_as_files({"w.ipynb": book}), SETTINGS).units] == [2]


def test_reports_show_the_source_as_it_was_written() -> None:
    """Magics are there, a code cell is an entry, other .py files follow, and very long files are cut."""
    files = texts_as_files({"w.ipynb": notebook("!ls", DONE), "h.py": "a = 1\n" * 20_000, "x.csv": "1", "p.py": "%PDF"})
    shown = texts(units(files, SETTINGS), SETTINGS)
    assert [(text.file, text.cell) for text in shown] == [("w.ipynb", 1), ("w.ipynb", 2), ("h.py", None)]
    assert shown[0].text == "!ls"
    assert len(shown[2].text) < 41_000
    assert shown[2].text.endswith("... (not shown: too long)")


def test_reports_of_many_long_cells_stay_small() -> None:
    """All texts of one report together have a limit."""
    files = texts_as_files({"w.ipynb": notebook(*["x = 1\n" * 6_000] * 20)})
    assert sum(len(text.text) for text in texts(units(files, SETTINGS), SETTINGS)) < 250_000


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        ("    pass", stubs.STUB),
        (" ...", stubs.STUB),
        ('    """Text: with a colon."""\n    # YOUR CODE HERE\n    raise NotImplementedError("later")', stubs.STUB),
        ("    '''x'''\n    raise NotImplementedError()\n\nprint(1)", stubs.STUB),
        ("    return Q, K", stubs.WRITTEN),
        ("    raise NotImplementedError\n    return Q", stubs.WRITTEN),
        (" return Q", stubs.WRITTEN),
    ],
)
@pytest.mark.parametrize(
    "head",
    [
        "def scaled_dot_product_attention(Q, K, V, mask=None):",
        "def scaled_dot_product_attention(\n    Q: Tensor,\n    K: dict[str, int],\n    V\n) -> tuple[int, int]:",
        "class A:\n  def scaled_dot_product_attention(self, Q):",
    ],
)
def test_a_stub_is_recognised_by_its_text(head: str, body: str, holds: int) -> None:
    """Enough to choose between a starter left as it was and the file with the work."""
    line_end = "" if body in (" ...", " return Q") else "\n"  # those two stand on the line of `def`
    assert stubs.holds(f"x = 1\n{head}{line_end}{body}\n", ENTRY) == holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("scaled_dot_product_attention = lambda q, k, v: q", stubs.WRITTEN),
        ("scaled_dot_product_attention == 3", stubs.NONE),
        ("from a import b, scaled_dot_product_attention as c", stubs.ALIAS),
        ("class Attention:\n    def forward(self): ...", stubs.ALIAS),
        ("def Attention(): ...", stubs.ALIAS),
        ("def helper(): ...", stubs.SOME),
        ("print(1)", stubs.NONE),
        ("def scaled_dot_product_attention(", stubs.STUB),
    ],
)
def test_less_than_the_function_is_ranked(text: str, holds: int) -> None:
    """An import or another name is worth more than a stub, and a stub more than some function."""
    assert stubs.holds(text, ENTRY) == holds


@pytest.mark.parametrize(
    "piece",
    [
        " ",
        "(",
        "def scaled_dot_product_attention(",
        "def scaled_dot_product_attention(\n",
        "from import ",
        '"""',
        "#",
        "\n ",
        "a:",
    ],
)
def test_no_text_makes_the_choice_hang(piece: str) -> None:
    """Long runs of one thing are done with at once."""
    text = "from x import " + piece * 20_000
    units([SourceFile("attention.py", text.encode()), SourceFile("b.txt", text.encode())], SETTINGS)
    decoding.decode(b"#" + piece.encode() * 20_000)


@pytest.mark.parametrize("cookie", ["rot13", "punycode", "idna", "unicode_escape", "utf-7", "../../x", "hex", "zip"])
def test_a_coding_line_chooses_only_text_encodings_that_people_use(cookie: str) -> None:
    """A codec that transforms text, or that is none, is not tried; the file is read as UTF-8."""
    found = decoding.decode(f"# coding: {cookie}\nx = 'é'\n".encode())
    assert found.text == f"# coding: {cookie}\nx = 'é'\n"
    assert "encoding that is not known here" in found.note


def test_a_coding_line_that_lies_is_survived() -> None:
    """The declared encoding does not fit the bytes: UTF-8, then what Windows writes."""
    assert decoding.decode("# coding: ascii\n# é".encode()).text.endswith("é")
    assert decoding.decode(b"# coding: utf-8\n# \xe9").text.endswith("é")
    assert decoding.decode(b"x = 1\n# coding: latin-1\n").note == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["code", "raw"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["cells", "worksheets", "cell_type", "source", "input", "metadata", "nbformat", "outputs"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(JSON, st.sampled_from(["attention.ipynb", "attention.py", "a.json", "b"]))
def test_any_json_is_read_or_explained(value: object, name: str) -> None:
    """Whatever a JSON file holds, there are units or there is one problem with words."""
    data = json.dumps({"cells": [value], "worksheets": value} if isinstance(value, list) else value).encode()
    found = units([SourceFile(name, data)], SETTINGS)
    assert bool(found.units) != bool(found.problem and found.problem.message)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_any_damage_is_read_or_explained(data: st.DataObject) -> None:
    """Files of the corpus with bytes changed, cut out or doubled never fail the marker."""
    paths = [path for path in sorted((CORPUS / "notebooks").iterdir()) if path.stat().st_size < 6_000]
    path = data.draw(st.sampled_from([*paths, CORPUS / "sources/bom.py", CORPUS / "sources/utf16.py"]))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=6))
    found = units([SourceFile(path.name, bytes(content))], SETTINGS)
    assert bool(found.units) != bool(found.problem and found.problem.message)
    for text in texts(found, SETTINGS):
        text.text.encode()


def test_other_files_are_passed_on_unchanged() -> None:
    """What a child imports is what was handed in."""
    files = files_at(CORPUS / "sources/siblings")
    found = units(files, SETTINGS)
    assert {path: found.files[path] for path in found.files} == {
        file.path: file.data for file in files if file.path != found.main
    }
