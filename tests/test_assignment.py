"""What `assignment.toml` says is taken at its word or refused with one message: file, key, and what was expected."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader import staff
from grader.assignment import load
from grader.auditing.audit import audit
from grader.authoring.new import new
from grader.errors import AssignmentError
from grader.marker import Marker
from grader.places.gradescope.build import worth
from grader.reporting import Circumstances
from grader.sandbox.fake import FakeSandbox
from grader.staff import Staff
from tests import course

FILE = "assignment.toml: "


def changed(root: Path, old: str, new: str) -> None:
    """Write the tiny course with one of its settings changed."""
    course.make(root)
    path = root / "assignments" / "double" / "assignment.toml"
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["x"]', '["x", "eps=="]', "entry.arguments: 'eps==' is not a parameter. Expected a name"),
        ('["x"]', '["x", ""]', "entry.arguments: '' is not a parameter"),
        ('["x"]', '["x: int"]', "entry.arguments: 'x: int' is not a parameter"),
        ('["x"]', '["*xs"]', "entry.arguments: '*xs' is not a parameter"),
        ('["x"]', '["x=1", "y"]', "entry.arguments: ['x=1', 'y'] make no def line"),
        ('["x"]', '["x", "x"]', "entry.arguments: ['x', 'x'] make no def line"),
        ('function = "double"', 'function = "two times"', "entry.function: 'two times' is not a name"),
        ('function = "double"', 'function = "class"', "entry.function: 'class' is not a name"),
        ('["y"]', "[]", "entry.returns: expected a different name for each returned value"),
        ('["y"]', '["y", "y"]', "entry.returns: expected a different name for each returned value"),
        ("[limits]", '[late]\ndue = "tomorrow"\n[limits]', "late.due: 'tomorrow' is not a time. Write it as 2026"),
        ("[limits]", "[late]\ndue = 2026-03-02\n[limits]", "Add the offset: 2026-03-02T23:59:00+01:00"),
        (
            "[limits]",
            "[conventions.swapped]\ndeduction = 2\n[limits]",
            "conventions.swapped.deduction: expected a number from 0 to 1; got 2.",
        ),
        (
            "call_seconds = 1",
            "call_seconds = inf",
            "limits.call_seconds: expected a number above 0 and up to 86,400; got",
        ),
        (
            "total_seconds = 6",
            "total_seconds = 1e30",
            "limits.total_seconds: expected a number above 0 and up to 86,400",
        ),
        ("memory_mb = 512", "memory_mb = 8", "limits.memory_mb: expected a whole number from 64 to 1,000,000; got 8."),
        ("memory_mb = 512", "memory_mb = 10000000000", "limits.memory_mb: expected a whole number from 64 to"),
        ("output_mb = 1", "output_mb = 10000000000", "limits.output_mb: expected a whole number from 1 to 1,000,000"),
        ("output_mb = 1", "threads = 1", "limits: there is no setting 'threads' here. There is: load_seconds, call_"),
        ("output_mb = 1", "memry_mb = 1", "limits: there is no setting 'memry_mb' here. Did you mean 'memory_mb'?"),
        ('title = "Twice a tensor"', "", "assignment.toml: the setting 'title' is missing."),
        ('returns = ["y"]', "", "entry: the setting 'returns' is missing."),
        ("[limits]", "[late]\nattempts = '3'\n[limits]", 'late.attempts: expected a whole number from 0 on; got "3".'),
        ("[limits]", "[late]\nper = 'week'\n[limits]", 'late.per: expected "day" or "hour"; got "week".'),
        ("[limits]", "trains = 'no'\n[limits]", "entry: there is no setting 'trains' here"),
        ("\n[entry]", "trains = 'no'\n[entry]", "trains: expected true or false, without quotation marks"),
        (
            "[limits]",
            "[late]\ngrace_minutes = inf\n[limits]",
            "late.grace_minutes: expected a number from 0 to 1,000,000",
        ),
        ('"Twice a tensor"', "[" * 5000, "assignment.toml: it holds a number of thousands of digits"),
        ('"Twice a tensor"', "9" * 5000, "assignment.toml: it holds a number of thousands of digits"),
        ('["x"]', f'["x={"-" * 20000}1"]', "is not a parameter. Expected a name"),
        ('"Twice a tensor"', "2", "title: expected text in quotation marks; got 2."),
        ('["double.py"]', '["../double.py"]', "files: '../double.py' is not a name that a file handed in can have"),
        ('["double.py"]', '["double.java"]', "files: 'double.java' is not a name that a file handed in can have"),
        ('files = ["double.py"]', "accepts = []", "accepts: expected a list in [ ] with at least one"),
        ('files = ["double.py"]', 'accepts = ["py"]', 'accepts[0]: expected ".ipynb" or ".py"; got "py".'),
        ('files = ["double.py"]', 'from_scratch = [""]', "from_scratch: '' is not the name of a part of the library"),
        (
            "[limits]",
            "[partial_credit.idea]\nvalues = 50\n[limits]",
            "partial_credit.idea.values: expected a number from 0 to 1; got 50.",
        ),
    ],
)
def test_a_setting_that_can_not_be_meant_is_refused_at_once(tmp_path: Path, old: str, new: str, words: str) -> None:
    """Students' `grader check` finds it as well as `grader grade`: both load the assignment first."""
    changed(tmp_path, old, new)
    with pytest.raises(AssignmentError) as refused:
        load("double", tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "assignments" / "double" / FILE))
    assert words in str(refused.value)


def test_settings_that_are_meant_are_taken(tmp_path: Path) -> None:
    """Defaults of every kind in a def line, and a due date with its offset."""
    changed(tmp_path, '["x"]', r"""["x", "eps=1e-5", 'kind="a=b"', "mask = None"]""")
    path = tmp_path / "assignments" / "double" / "assignment.toml"
    path.write_text(path.read_text() + "[late]\ndue = 2026-03-02T23:59:00+01:00\n")
    assert load("double", tmp_path).settings.late.due == "2026-03-02T23:59:00+01:00"


def test_where_there_is_no_assignment_at_all_it_is_said_what_to_do(tmp_path: Path) -> None:
    """An empty folder lists nothing; it is told how to name another one and how to make an assignment."""
    with pytest.raises(AssignmentError, match=r"none at all: name the course folder.*--root.*`grader new mine`"):
        load("mine", tmp_path)


def written(root: Path, more: str = "", *, returns: str = "y", arguments: str = "x") -> None:
    """Write the template's assignment with more in its settings."""
    new("centred_rows", root)
    path = root / "assignments" / "centred_rows" / "assignment.toml"
    text = path.read_text().replace('returns = ["y"]', f'returns = ["{returns}"]')
    path.write_text(text.replace('arguments = ["x"]', f'arguments = ["{arguments}"]') + more)


@pytest.mark.parametrize(
    ("more", "names", "words"),
    [
        ("[partial_credit.mean_addedd]\n", {}, "partial_credit.mean_addedd: there is no misconception"),
        ("[conventions.swaped]\n", {}, "conventions.swaped: there is no convention called 'swaped'. Did you mean 'swa"),
        ("[conventions.zzz]\n", {}, "There is: dict, "),
        ("", {"returns": "z"}, "entry.returns: expected the names that BANK in misconceptions.py has, y; got z"),
        ("", {"arguments": "z=3"}, "entry.arguments: expected the names that BANK in misconceptions.py has, x; got z"),
    ],
)
def test_a_name_that_the_staff_half_does_not_have_is_refused(
    tmp_path: Path, more: str, names: dict[str, str], words: str
) -> None:
    """Grading and the audit both begin by loading the staff half; a slip in an id is told instead of ignored."""
    written(tmp_path, more, **names)
    with pytest.raises(AssignmentError) as refused:
        staff.load(load("centred_rows", tmp_path))
    assert FILE in str(refused.value)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        ("misconceptions", "raise SystemExit(4)", "misconceptions.py, line 1: SystemExit: 4\n    raise SystemExit(4)"),
        (
            "misconceptions",
            "x = 1\nBANK = (",
            "misconceptions.py, line 2: SyntaxError: '(' was never closed\n    BANK = (",
        ),
        ("misconceptions", "BANK = 3", "misconceptions.py: BANK should be a Bank, and is '3'"),
        ("bounds", "bounds = None", "bounds.py: bounds should be a function, and is 'None'"),
        ("conventions", "CONVENTIONS = ['x']", "conventions.py: CONVENTIONS should be a list of Conventions"),
    ],
)
def test_a_staff_module_that_is_not_what_it_should_be_is_told(
    tmp_path: Path, module: str, text: str, words: str
) -> None:
    """One message with the file, before a marker dies of it."""
    written(tmp_path)
    (tmp_path / "solutions" / "centred_rows" / f"{module}.py").write_text(text)
    sys.modules.pop(module, None)
    with pytest.raises(AssignmentError) as refused:
        staff.load(load("centred_rows", tmp_path))
    assert words in str(refused.value)


def marked(root: Path) -> None:
    """Begin to mark, as a marker does."""
    assignment = load("centred_rows", root)
    loaded: Staff = staff.load(assignment)
    marker = Marker(assignment, loaded, FakeSandbox(loaded.reference), Circumstances(b"s" * 32, "A", "none"))
    marker.run([], lambda report: None)


@pytest.mark.parametrize(
    "begin",
    [
        marked,
        lambda root: audit(load("centred_rows", root), jobs=1),
        lambda root: worth(load("centred_rows", root)),
    ],
    ids=["grade", "audit", "gradescope build"],
)
def test_a_check_that_is_not_there_is_refused(tmp_path: Path, begin: object) -> None:
    """Partial credit for a check that nothing is called would never be paid."""
    written(tmp_path, "[partial_credit.mean_added]\nvalue = 0.5\n")
    assert callable(begin)
    with pytest.raises(AssignmentError, match=r"partial_credit.mean_added.value: .*hidden check.*mean 'values'"):
        begin(tmp_path)


def test_names_that_are_there_are_taken(tmp_path: Path) -> None:
    """An idea of the bank, one of its checks, and a form of answering that every assignment knows."""
    written(tmp_path, '[partial_credit.mean_added]\n"values[gpu]" = 0.5\n[conventions.swapped]\naction = "accept"\n')
    marked(tmp_path)
