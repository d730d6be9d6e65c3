"""Starters: students get the task and nothing of the solution, whichever tool the master was written for."""

from __future__ import annotations

import ast
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader.assignment import Assignment, load
from grader.authoring.master import load_reference
from grader.authoring.release import release
from grader.errors import AssignmentError

ROOT = Path(__file__).parent.parent
NAMES = sorted(path.parent.name for path in (ROOT / "assignments").glob("*/assignment.toml"))

Write = Callable[..., Assignment]
Cells = list[tuple[str, str, dict[str, Any]]]
SOLUTION = {"nbgrader": {"solution": True, "grade": False, "grade_id": "the-root"}}
TESTS = {"nbgrader": {"solution": False, "grade": True, "grade_id": "tests"}}


def notebook(cells: Cells) -> str:
    content = [
        {"cell_type": kind, "id": f"c{index}", "source": source, "metadata": metadata}
        | ({"outputs": [], "execution_count": 7} if kind == "code" else {})
        for index, (kind, source, metadata) in enumerate(cells)
    ]
    return json.dumps({"cells": content, "metadata": {"authors": ["A. B."]}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Makes an assignment `root` whose master is the given text or the given notebook cells."""

    def make(master: str | Cells, colab: str = "") -> Assignment:
        public, staff = tmp_path / "assignments" / "root", tmp_path / "solutions" / "root"
        for folder in (public, staff):
            folder.mkdir(parents=True, exist_ok=True)
        settings = f'title = "Root"\ncolab = "{colab}"\n'
        settings += '[entry]\nfunction = "root"\narguments = ["x"]\nreturns = ["y"]\n'
        (public / "assignment.toml").write_text(settings, encoding="utf-8")
        path, text = ("root.py", master) if isinstance(master, str) else ("root.ipynb", notebook(master))
        (staff / path).write_text(text, encoding="utf-8")
        return load("root", tmp_path)

    return make


def released(assignment: Assignment) -> tuple[str, list[tuple[str, str]]]:
    """(the script, the notebook's cells as (kind, source)) after a release."""
    release(assignment)
    script = (assignment.public / "root.py").read_text(encoding="utf-8")
    content = json.loads((assignment.public / "root.ipynb").read_text(encoding="utf-8"))
    return script, [(cell["cell_type"], "".join(cell["source"])) for cell in content["cells"]]


PERCENT = '''# %% [markdown]
# # Root

# %%
import math

# %% tags=["script"]
# only in the script

# %% tags=["notebook"]
print("only in the notebook")

# %% tags=["staff"]
print("for staff")

# %%
EPSILON = 1
### BEGIN SOLUTION
STEPS = [math.pi, math.e]
### END SOLUTION


def root(x):
    """The square root."""
    ### BEGIN SOLUTION
    return math.sqrt(x) + 0
    ### END SOLUTION
'''


def test_a_region_becomes_a_stub(write):
    """The solution goes; what stays is valid Python that says where to write."""
    script, cells = released(write(PERCENT))
    assert "math.sqrt" not in script
    assert 'raise NotImplementedError("Write your code here and remove this line.")' in script
    assert "...  # Write your code here." in script
    ast.parse(script)
    sources = [source for _, source in cells]
    assert 'print("only in the notebook")' in sources
    assert "only in the notebook" not in script
    assert "# only in the script" in script
    assert "# only in the script" not in sources
    assert "for staff" not in script + "".join(sources)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("    ### END SOLUTION\n", ""), r"cell 6, line 25: BEGIN SOLUTION is not closed"),
        (("    ### BEGIN SOLUTION\n", ""), r"cell 6, line 26: END SOLUTION without its BEGIN"),
        (("    return", "    ### BEGIN SOLUTION\n    return"), r"cell 6, line 26: BEGIN SOLUTION inside the region"),
        (("    ### END SOLUTION", "    # END SOLUTIONS"), r"cell 6, line 25: BEGIN SOLUTION is not closed"),
        (('print("only in the notebook")', "return math.sqrt(x) + 0  # see"), r"cell 4, line 11: this line would give"),
        (("EPSILON = 1", "### BEGIN HIDDEN TESTS"), r"cell 6, line 17: '### BEGIN HIDDEN TESTS' would reach students"),
    ],
)
def test_what_would_leak_is_an_error_with_its_place(write, change, place):
    """An open region, a marker of another tool or a line of the solution elsewhere stops the release."""
    assignment = write(PERCENT.replace(*change, 1))
    with pytest.raises(AssignmentError, match=place):
        release(assignment)
    assert not (assignment.public / "root.py").exists()


@pytest.mark.parametrize("name", ["README.md", "check_root.py"])
def test_a_solution_line_in_another_public_file_is_an_error(write, name):
    """The handout and the public checks go out with the starters, so they are looked at, too."""
    assignment = write(PERCENT)
    (assignment.public / name).write_text("Words.\n\n    return math.sqrt(x) + 0  # here\n", encoding="utf-8")
    with pytest.raises(AssignmentError, match=rf"{name}, line 3: this line would give the solution away"):
        release(assignment)
    assert not (assignment.public / "root.py").exists()


def test_nbgrader_masters_keep_nbgraders_rules(write):
    """Regions match anywhere in a line, hidden tests go, visible tests stay, answers without markers go whole."""
    script, cells = released(
        write(
            [
                ("code", "def root(x):\n    #  BEGIN SOLUTION here\n    return x ** 0.5\n    # END SOLUTION", SOLUTION),
                (
                    "code",
                    "assert root(4) == 2\n### BEGIN HIDDEN TESTS\nassert root(9) == 3\n### END HIDDEN TESTS",
                    TESTS,
                ),
                ("markdown", "The root is unique.", {"nbgrader": {"solution": True, "grade": True, "grade_id": "why"}}),
                ("code", "value = root(16)", {"nbgrader": {"solution": True, "grade": False, "grade_id": "use"}}),
            ]
        )
    )
    assert cells == [
        ("code", "def root(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"),
        ("code", "assert root(4) == 2"),
        ("markdown", "YOUR ANSWER HERE"),
        ("code", "# YOUR CODE HERE\nraise NotImplementedError()"),
    ]
    assert "assert" not in script


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (("code", "### BEGIN SOLUTION\nx = 1\n### END SOLUTION", TESTS), "cell 2, line 1: BEGIN SOLUTION in a cell"),
        (("code", "x\n### BEGIN HIDDEN TESTS\nx = 1", TESTS), "cell 2, line 2: BEGIN HIDDEN TESTS is not closed"),
        (("code", "x\n### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS", SOLUTION), "line 2: BEGIN HIDDEN TESTS in a cell"),
        (("code", "### AUTOTEST root(4)", TESTS), "cell 2, line 1: '### AUTOTEST root"),
    ],
)
def test_nbgrader_faults_are_named(write, cell, words):
    """A region where nbgrader would not look for it is an error: it would reach students as it is."""
    with pytest.raises(AssignmentError, match=words):
        release(write([("code", "pass", SOLUTION), cell]))


OTTER_BEGIN: Cells = [("raw", "# ASSIGNMENT CONFIG\nname: root", {}), ("raw", "# BEGIN QUESTION\nname: q1", {})]
OTTER_END: Cells = [("raw", "# END QUESTION", {})]


def otter(*blocks: tuple[str, str, str]) -> Cells:
    """Cells of one otter question: (block, kind, source), "" for outside a block."""
    cells: Cells = []
    for block, kind, source in blocks:
        inner: Cells = [(kind, source, {})]
        cells += [("raw", f"# BEGIN {block}", {}), *inner, ("raw", f"# END {block}", {})] if block else inner
    return OTTER_BEGIN + cells + OTTER_END


def test_otter_masters_keep_otters_rules(write):
    """Assignments keep their left side, other lines become `...`, prompts stay, seeds and tests go."""
    source = (
        "import math\nrng = math.sin(42)  # SEED\ndef root(x):\n    y: float = x ** 0.5  # SOLUTION\n"
        "    return y + 0.0 # SOLUTION\n# BEGIN SOLUTION\nprint(root(1), 1)\n# END SOLUTION\n"
        '""" # BEGIN PROMPT\nanswer = ...\n"""; # END PROMPT\n'
        "# BEGIN SOLUTION NO PROMPT\nanswer = root(16.0)\n# END SOLUTION\nhelper = 3 # SOLUTION NO PROMPT"
    )
    script, cells = released(
        write(otter(("", "markdown", "Write it."), ("SOLUTION", "code", source), ("TESTS", "code", "root(4) == 2")))
    )
    assert cells == [
        ("markdown", "Write it."),
        ("code", "import math\ndef root(x):\n    y: float = ...\n    ...\n...\nanswer = ..."),
    ]
    assert script == cells[1][1] + "\n"


def test_an_otter_prompt_block_replaces_the_solution(write):
    """When a question has a prompt block, students get that and not a stripped solution."""
    _, cells = released(
        write(otter(("PROMPT", "code", "def root(x):\n    ..."), ("SOLUTION", "code", "def root(x): return x**0.5")))
    )
    assert cells == [("code", "def root(x):\n    ...")]


def test_a_whole_otter_solution_without_marks_is_an_error(write):
    """otter would hand such a cell out as it is."""
    with pytest.raises(AssignmentError, match="cell 4, line 1: a cell in a SOLUTION block with no '# SOLUTION' line"):
        release(write(otter(("SOLUTION", "code", "def root(x): return x**0.5"))))


def test_the_dialect_is_decided_once_for_a_notebook(write):
    """`# SOLUTION` means nothing to nbgrader: in its notebooks it is a marker left over, not otter's line."""
    with pytest.raises(AssignmentError, match="cell 1, line 1: 'x = 1  # SOLUTION' would reach students"):
        release(write([("code", "x = 1  # SOLUTION", {}), ("code", "", SOLUTION)]))


def test_the_notebook_is_clean_and_its_ids_are_stable(write):
    """No outputs, no authors, no execution counts; changing one cell's body leaves all ids as they were."""
    assignment = write(PERCENT)
    release(assignment)
    path = assignment.public / "root.ipynb"
    before = nbformat.read(path, as_version=4)
    nbformat.validate(before)
    assert set(before.metadata) == {"kernelspec", "language_info", "colab"}
    assert all(not cell.outputs and cell.execution_count is None for cell in before.cells if cell.cell_type == "code")
    write(PERCENT.replace("EPSILON = 1", "EPSILON = 1\nDELTA = 2").replace("# # Root", "# # Root\n#\n# More words."))
    assert release(assignment) == [assignment.public / "root.py", path]
    assert [cell.id for cell in nbformat.read(path, as_version=4).cells] == [cell.id for cell in before.cells]


def test_a_stale_starter_fails_the_check(write):
    """`--check` compares bytes and writes nothing; after a release it is content."""
    assignment = write(PERCENT)
    with pytest.raises(AssignmentError, match=r"root\.py and .*root\.ipynb: out of date. Run 'grader release root'"):
        release(assignment, check=True)
    assert not (assignment.public / "root.py").exists()
    release(assignment)
    assert release(assignment, check=True) == []
    (assignment.public / "root.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(AssignmentError, match=r"root\.py: out of date"):
        release(assignment, check=True)


def test_the_badge_opens_the_notebook_in_colab(write):
    """The badge is the first cell, its address comes from the settings, and a wrong address is an error."""
    _, cells = released(write(PERCENT, colab="https://github.com/someone/course/blob/main"))
    link = "https://colab.research.google.com/github/someone/course/blob/main/assignments/root/root.ipynb"
    assert cells[0][0] == "markdown"
    assert cells[0][1].endswith(f"({link})")
    with pytest.raises(AssignmentError, match=r"assignment\.toml: colab is 'example\.org'"):
        release(write(PERCENT, colab="example.org"))


def test_an_included_file_travels_in_the_notebook(write):
    """`# include NAME` puts a file of the public half into the notebook, so that Colab needs nothing else."""
    assignment = write(PERCENT.replace('print("only in the notebook")', "# include check_root.py"))
    with pytest.raises(AssignmentError, match=r"cell 4, line 11: can't include .*check_root\.py"):
        release(assignment)
    (assignment.public / "check_root.py").write_text("def check(f): ...\n", encoding="utf-8")
    _, cells = released(assignment)
    included = [source for _, source in cells if source.startswith("%%writefile check_root.py\n")]
    assert len(included) == 1
    assert included[0].endswith("def check(f): ...")


@pytest.mark.parametrize("name", NAMES)
def test_the_starters_in_the_repository_are_up_to_date(name):
    """What students receive is what the master says now."""
    assert release(load(name, ROOT), check=True) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_starter_script_imports_and_waits_for_its_code(name):
    """A starter runs as it is; only calling the function says that it is not written."""
    assignment = load(name, ROOT)
    function = runpy.run_path(str(assignment.public / f"{name}.py"))[assignment.settings.entry.function]
    with pytest.raises(NotImplementedError):
        function(*[None] * sum("=" not in argument for argument in assignment.settings.entry.arguments))


class _Drawing:
    """Stands in for matplotlib and its pyplot: accepts every call."""

    pyplot: Any

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("solved", [False, True])
def test_every_starter_notebook_runs_from_top_to_bottom(name, solved, tmp_path, monkeypatch):
    """As it is, and with the reference in it: each cell runs, and the public check gives its verdict."""
    assignment = load(name, ROOT)
    content = json.loads((assignment.public / f"{name}.ipynb").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    drawing = _Drawing()
    drawing.pyplot = drawing
    monkeypatch.setitem(sys.modules, "matplotlib", drawing)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", drawing)
    monkeypatch.delitem(sys.modules, f"check_{name}", raising=False)
    space: dict[str, Any] = {}
    verdicts = []
    for cell in content["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        if source.startswith("%%writefile "):
            first, _, rest = source.partition("\n")
            Path(first.split()[1]).write_text(rest, encoding="utf-8")
            continue
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), space)
        if solved and f"def {assignment.settings.entry.function}(" in source:
            space[assignment.settings.entry.function] = load_reference(assignment)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), space)
            verdicts += [value] if hasattr(value, "passed") else []
    monkeypatch.delitem(sys.modules, f"check_{name}", raising=False)
    assert [verdict.passed for verdict in verdicts] == [solved]
    assert ("All public checks passed" if solved else "not written yet") in repr(verdicts[0])
    assert "<div" in verdicts[0]._repr_html_()
