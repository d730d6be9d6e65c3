"""Masters: what an author writes is read as meant, and what can't be read is named with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment import Assignment, load
from grader.authoring.master import load_reference, master_path, read_master, reference_source
from grader.errors import AssignmentError

ROOT = Path(__file__).parent.parent
PERCENT = '''"""A note for staff."""

# %% [markdown]
# # Title
#
# Words.

# %%
import math

# %% tags=["notebook"]
print(1 / 0)

# %%
def root(x):
    ### BEGIN SOLUTION
    return math.sqrt(x)
    ### END SOLUTION
'''

Write = Callable[[str], Assignment]


def notebook(*cells: tuple[str, str, dict[str, Any]]) -> str:
    """A notebook of (kind, source, metadata)."""
    content = [
        {"cell_type": kind, "id": f"c{index}", "source": source, "metadata": metadata}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for index, (kind, source, metadata) in enumerate(cells)
    ]
    return json.dumps({"cells": content, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Makes an assignment `root` whose master is the given text."""

    def make(master: str, suffix: str = ".py") -> Assignment:
        public, staff = tmp_path / "assignments" / "root", tmp_path / "solutions" / "root"
        for folder in (public, staff):
            folder.mkdir(parents=True, exist_ok=True)
        settings = 'title = "Root"\n[entry]\nfunction = "root"\narguments = ["x"]\nreturns = ["y"]\n'
        (public / "assignment.toml").write_text(settings, encoding="utf-8")
        (staff / f"root{suffix}").write_text(master, encoding="utf-8")
        return load("root", tmp_path)

    return make


def test_cells_know_their_kind_tags_and_place(write):
    """A percent file becomes cells, each with its text, its tags and the line on which it begins."""
    cells = read_master(master_path(write(PERCENT)))
    assert [(cell.kind, cell.line) for cell in cells] == [("markdown", 4), ("code", 9), ("code", 12), ("code", 15)]
    assert cells[0].source == "# Title\n\nWords."
    assert cells[2].tags == {"notebook"}
    assert cells[3].source.startswith("def root(x):")


def test_demonstrations_are_not_part_of_the_reference(write):
    """A cell for the notebook alone is not run when the reference is loaded."""
    assert load_reference(write(PERCENT))(9.0) == 3.0


def test_tracebacks_point_into_the_master(write):
    """The reference's lines keep their numbers, so that an error names the line to mend."""
    assignment = write(PERCENT)
    source = reference_source(master_path(assignment)).split("\n")
    assert source[16] == PERCENT.split("\n")[16] == "    return math.sqrt(x)"
    broken = write(PERCENT.replace("import math", "import math\nmath.nothing"))
    with pytest.raises(AssignmentError, match=r"root\.py, line 10: the reference fails: AttributeError"):
        load_reference(broken)


@pytest.mark.parametrize(
    ("master", "words"),
    [
        ("def root(x): ...\n", "has no cells"),
        ("import math\n# %%\n", "line 1: code before the first cell"),
        ("# %% [heading]\n", r"cell 1, line 1: '\[heading\]' is not understood"),
        ('# %%\nx = 1\n# %% tags=["secret"]\n', "cell 2, line 3: unknown tag secret"),
        ("# %% tags=['notebook']\n", "cell 1, line 1: write the tags as"),
        ("# %% [markdown]\n# fine\nx = 1\n", "cell 1, line 3: a line of a markdown cell must begin with '# '"),
        ("# %%\nx = 1\n", r"does not define root\(\)"),
        ("# %%\ndef root(x:\n", r"root\.py, line 2: the reference fails: SyntaxError"),
    ],
)
def test_faults_are_named_with_their_place(write, master, words):
    """A master that can't be used gives one message: file, cell, line, and the mend."""
    with pytest.raises(AssignmentError, match=words):
        load_reference(write(master))


def test_there_is_exactly_one_master(write):
    """No master and two masters are both errors: nobody should have to guess which one counts."""
    assignment = write(PERCENT)
    (assignment.staff / "root.ipynb").write_text(notebook(("code", "x = 1", {})), encoding="utf-8")
    with pytest.raises(AssignmentError, match="two masters"):
        master_path(assignment)
    for path in assignment.staff.iterdir():
        path.unlink()
    with pytest.raises(AssignmentError, match="no master"):
        master_path(assignment)


def test_an_nbgrader_master_is_a_reference(write):
    """Test cells written for nbgrader are left out of the reference; solution cells are in it."""
    master = notebook(
        ("code", "import math", {}),
        ("code", "def root(x):\n    return math.sqrt(x)", {"nbgrader": {"solution": True, "grade": False}}),
        ("code", "assert root(4) == 5", {"nbgrader": {"solution": False, "grade": True}}),
    )
    assert load_reference(write(master, ".ipynb"))(16.0) == 4.0


def test_an_otter_master_is_a_reference(write):
    """Prompts and tests written for otter are left out of the reference; the solution is in it."""
    master = notebook(
        ("raw", "# ASSIGNMENT CONFIG\nname: root", {}),
        ("markdown", "```otter\n# BEGIN QUESTION\nname: q1\n```", {}),
        ("raw", "# BEGIN PROMPT", {}),
        ("code", "def root(x):\n    raise SystemExit", {}),
        ("raw", "# END PROMPT", {}),
        ("raw", "# BEGIN SOLUTION", {}),
        ("code", "def root(x):\n    return x**0.5  # SOLUTION", {}),
        ("raw", "# END SOLUTION", {}),
        ("raw", "# BEGIN TESTS", {}),
        ("code", "1 / 0", {}),
        ("raw", "# END TESTS", {}),
        ("raw", "# END QUESTION", {}),
    )
    assert load_reference(write(master, ".ipynb"))(25.0) == 5.0


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([("raw", "# BEGIN QUESTION", {}), ("code", "x = 1", {})], "cell 1, line 1: BEGIN QUESTION is not closed"),
        (
            [("raw", "# BEGIN TESTS", {}), ("raw", "# END PROMPT", {})],
            "cell 2, line 1: END PROMPT closes no",
        ),
        ([], "holds no cells"),
    ],
)
def test_faulty_notebooks_are_named_with_their_place(write, cells, words):
    """A block of otter's that is not closed would swallow the rest of the notebook; it is an error instead."""
    with pytest.raises(AssignmentError, match=words):
        read_master(master_path(write(notebook(*cells), ".ipynb")))


def test_a_file_that_is_no_notebook_is_named(write):
    """A broken notebook is an error of the author's with the file's name, not a traceback."""
    with pytest.raises(AssignmentError, match=r"root\.ipynb is not a notebook"):
        read_master(master_path(write("{", ".ipynb")))


def test_the_attention_reference_agrees_with_pytorch():
    """The number that everything is compared with is itself compared with PyTorch's own attention, in float64."""
    reference = load_reference(load("attention", ROOT))
    Q, K, V = (torch.randn(2, 3, *sizes, dtype=torch.float64) for sizes in ((5, 4), (6, 4), (6, 7)))
    mask = torch.ones(5, 6).tril()
    output: Tensor
    output, weights = reference(Q, K, V, mask)
    library = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask.bool())
    assert (output - library).abs().max() < 1e-14
    assert (weights.sum(-1) - 1).abs().max() < 1e-14
    nothing = torch.zeros(5, 6, dtype=torch.bool)
    assert reference(Q, K, V, nothing)[1].isnan().all()
