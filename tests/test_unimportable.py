"""What staff wrote and Python refuses is told with file, line, reason and the line itself, in two lines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.collect import Checks, collect
from grader.errors import AssignmentError
from tests import course

HELPER = "def help():\n    return {}['no such key']\n"


@pytest.fixture(autouse=True)
def _nothing_of_another_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `staff.load`."""
    monkeypatch.delitem(sys.modules, "test_hidden", raising=False)


@pytest.mark.parametrize(
    ("hidden", "words"),
    [
        (
            "import torch\n\ndef test_x(student)\n    pass\n",
            "line 3: SyntaxError: expected ':'\n    def test_x(student)",
        ),
        (
            "\nimport nothing_there\n",
            "line 2: ModuleNotFoundError: No module named 'nothing_there'\n    import nothing_",
        ),
        ("from grader.checks import expekt\n", "line 1: ImportError: cannot import name 'expekt'"),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3\n    sys.exit(3)"),
        ("def f():\n    f()\nf()\n", "RecursionError: maximum recursion depth exceeded"),
        ("class E(Exception):\n    __str__ = None\nraise E\n", "line 3: E: (its words can't be read)\n    raise E"),
        ("try:\n    {}[1]\nexcept KeyError as e:\n    raise ValueError('No') from e\n", "line 4: ValueError: No\n"),
        ("x = 1 / 0\n", "line 1: ZeroDivisionError: division by zero\n    x = 1 / 0"),
    ],
)
def test_the_line_that_is_wrong_is_named(tmp_path: Path, hidden: str, words: str) -> None:
    """Nothing of what pytest did on its way there."""
    made = course.make(tmp_path, hidden=hidden)
    with pytest.raises(AssignmentError) as refused:
        collect(made.hidden_checks, Checks(lambda x: x, lambda checks: None))
    told = str(refused.value)
    assert told.startswith(f"{made.hidden_checks} could not be collected. test_hidden.py, ")
    assert words in told
    assert len(told.splitlines()) == 2


def test_an_interrupt_is_one_and_no_empty_file(tmp_path: Path) -> None:
    """Ctrl-C while the checks are imported ends the command."""
    made = course.make(tmp_path, hidden="raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        collect(made.hidden_checks, Checks(lambda x: x, lambda checks: None))


def test_the_file_at_fault_is_named_when_it_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module beside the checks that breaks is the place to mend, not the line that imports it."""
    made = course.make(tmp_path, hidden="import helper_of_this_test\n\nhelper_of_this_test.help()\n")
    (made.staff / "helper_of_this_test.py").write_text(HELPER)
    monkeypatch.syspath_prepend(made.staff)
    with pytest.raises(AssignmentError, match=r"collected\. helper_of_this_test\.py, line 2: KeyError: 'no such key'"):
        collect(made.hidden_checks, Checks(lambda x: x, lambda checks: None))
