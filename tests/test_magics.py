"""IPython's syntax becomes plain Python, line for line, and plain Python stays as it is."""

from __future__ import annotations

import ast
import inspect
import random
import textwrap
from pathlib import Path

import pytest

from grader.reading.magics import plain_cell, plain_file


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ("%matplotlib inline", "pass"),
        ("%load_ext x; y", "pass"),
        ("if x:\n    !ls\nelse:\n\t%cd /content", "if x:\n    pass\nelse:\n\tpass"),
        ("files = !ls *.py", "files = []"),
        ("a.b[0], c = %timeit -o f()", "a.b[0], c = []"),
        ("%time model = f()", "model = f()"),
        ("    %time x = 1", "%time x = 1".replace("%time ", "")),
        ("%timeit f(1)", "pass"),
        ("%%time\nx = 1", "\nx = 1"),
        ("#@title Load\n\n%%capture --no-stderr\nx = 1", "#@title Load\n\n\nx = 1"),
        ("%%time\n%%capture\nx = 1", "\n\nx = 1"),
        ("x = 1\n%%time\ny = 2", "x = 1\npass\ny = 2"),
        ("%%bash\nrm -rf *", "\n"),
        ("%%javascript\nx = 1", "\n"),
        ("!!ls", "pass"),
        ("!pip install a \\\n  b \\\n  c\nx = 1", "pass\n\n\nx = 1"),
        ("pip install torch", "pass"),
        ("pip install -U 'torch>=2'", "pass"),
        ("conda install -y numpy", "pass"),
        ("cd /content/drive", "pass"),
        ("rm -rf build", "pass"),
        ("torch.nn?", "pass"),
        ("?torch", "pass"),
        ("torch.matmul??", "pass"),
        ("%run helpers.py", "from helpers import *"),
        ("%run ./lib/a.py", "from lib.a import *"),
        ("%run -i other.ipynb", "pass"),
        (">>> x = 1\n>>> def f():\n...     return x", "x = 1\ndef f():\n    return x"),
        ("In [3]: x = 1", "x = 1"),
        ("  x = 1\n  y = 2", "x = 1\ny = 2"),
    ],
)
def test_ipython_syntax_becomes_python(cell: str, plain: str) -> None:
    """The replacement parses and has as many lines as the cell had."""
    result = plain_cell(cell).source
    assert result == plain
    assert result.count("\n") == cell.count("\n")
    ast.parse(result)


@pytest.mark.parametrize("line", ["\u00a0!ls", "pip\u00a0install x", "f?\u00a0", "files =\u00a0!ls", "\f%cd a"])
def test_spaces_of_every_kind_are_spaces(line: str) -> None:
    """What was copied from a page, with its spaces that don't break, is read alike, whatever else the file holds."""
    alone = plain_file(f"x = 1\n{line}")
    assert alone.left_out
    assert plain_file(f"x = 1\n{line}\nwho?").source == f"{alone.source}\npass"


@pytest.mark.parametrize(
    "text",
    [
        'x = """\n!ls\n%%time\npip install x\nwhat?\n"""',
        "x = '''a\\'''\n!ls\n'''",
        "x = (7\n%3)",
        "x = 7 \\\n%3",
        "f(a,\n  '(',  # )\n%b)",
        'print("who?")\n# why?\n# !ls\ny = x if x else "?"',
        "pip = 3\npip.install\nls = cat = 2\nls - cat\ncd, who = 1, 2\nenv = who is not cd",
        "x != 3\nx = y % z\nx %= 3",
        "matplotlib in x\nls if cd else who",
    ],
)
def test_python_is_left_alone(text: str) -> None:
    """Text in strings, brackets, continued lines and comments is never a magic."""
    assert plain_file(text).source == text
    assert plain_cell(text).source == text


def test_the_standard_library_is_left_alone() -> None:
    """Sixty real modules come out unchanged."""
    folder = Path(inspect.getsourcefile(textwrap) or "").parent
    for path in random.Random(1).sample(sorted(folder.glob("*.py")), 60):
        text = path.read_text(encoding="utf-8")
        assert plain_file(text).source == text, path.name


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("%%writefile m.py", "m.py"),
        ("%%file lib/m.py", "lib/m.py"),
        ("%%writefile -a m.py", "m.py"),
        ("%%writefile '/content/drive/MyDrive/m.py'", "m.py"),
        ("%%writefile ../../etc/m.py", "etc/m.py"),
        ("%%writefile C:\\work\\m.py", "C:/work/m.py"),
        ("%%writefile", ""),
        ("%%writefile ..", ""),
        ("%%writefile " + "a/" * 9 + "m.py", ""),
        ("%%writefile " + "a" * 300, ""),
        ("%%writefile a\x00b", ""),
    ],
)
def test_writefile_becomes_a_file_inside_the_submission(line: str, path: str) -> None:
    """The path can't lead out of the submission; the body is kept, the cell runs nothing."""
    result = plain_cell(f"{line}\nx = 1")
    assert result.writes == path
    assert result.body == (b"x = 1\n" if path else b"")
    assert result.appends == ("-a" in line)
    assert not result.source.strip()


def test_what_was_left_out_is_said_briefly() -> None:
    """A student learns which lines were not run."""
    assert plain_cell("!pip install " + "x" * 99 + "\n%cd a\ny = 1").left_out == [
        "!pip install xxxxxxxxxxxxxxxxxxxxxxxx...",
        "%cd a",
    ]


@pytest.mark.parametrize(
    "piece", [" ", "a ", "a=", "%", "!", "?", "a.", "[", '"', "'", "\\", "(", "\t%", "a[", "\n ", "x = "]
)
def test_no_text_makes_the_marker_hang(piece: str) -> None:
    """Long runs of one thing, which make careless patterns take hours, are done with at once."""
    for text in (piece * 30_000, piece * 30_000 + "!", "%" + piece * 30_000, "x = " + piece * 30_000 + "?"):
        plain_cell(text)
