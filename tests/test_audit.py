"""The audit finds holes in hidden checks, and the attention checks have none that these candidates show."""

from __future__ import annotations

import dataclasses
import io
import multiprocessing
import time
from pathlib import Path

import pytest
from course import HIDDEN, make
from rich.console import Console
from torch import Tensor

from grader import staff
from grader.assignment import Assignment, load
from grader.auditing.audit import Audit, _in_forks, audit, faults, misdirected, read_listed
from grader.auditing.audit_report import page, show, summary
from grader.auditing.candidates import limited, singles
from grader.auditing.mutants import mutants
from grader.auditing.trials import CheckInfo, Outcome, Share, Trials
from grader.errors import AssignmentError
from grader.misconception import Bank, Misconception
from grader.sandbox import accelerator

ROOT = Path(__file__).resolve().parent.parent
SWAPPED = "return x * 2  =>  return 2 * x"
STARTER = "def double(x):\n    raise NotImplementedError\n"
ROUTES = """
def added(x):
    return x + x


def in_place(x):
    return x.mul_(2)


LOSES = {"in_place": ("input",)}
"""
STRICT = HIDDEN.replace(
    "student(torch.randn(5))", "x = torch.randn(5)\n    expect.close(student(x), 2 * x, bound=1e-6)"
).replace(
    "expect.shape(student(torch.randn(size)), (size,))",
    "x = torch.randn(size)\n            expect.close(student(x), 2 * x, bound=1e-6)",
)
"""Checks that a constant does not pass."""


def course(root: Path, *, hidden: str = STRICT, listed: str = "") -> Assignment:
    """A one-line assignment with a starter, two other routes, and the list of equivalents."""
    assignment = make(root, hidden=hidden)
    (assignment.public / "double.py").write_text(STARTER)
    (assignment.staff / "alternatives.py").write_text(ROUTES)
    (assignment.staff / "equivalent.toml").write_text(listed)
    return assignment


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Assignment, Audit]:
    """Good checks, everything explained."""
    assignment = course(tmp_path_factory.mktemp("good"), listed=f'"{SWAPPED}" = "Multiplication commutes."\n')
    return assignment, audit(assignment, jobs=1)


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Checks that only look at shapes, and excuses that are none."""
    hidden = HIDDEN.replace("expect.close(student(x), reference(x), bound=1e-6)", "expect.shape(student(x), (3, 4))")
    listed = '"zeros" = "I like them."\n"gone" = "It was here once."\n'
    return audit(course(tmp_path_factory.mktemp("weak"), hidden=hidden, listed=listed), jobs=1)


def named(found: Audit, name: str) -> Outcome:
    return next(outcome for outcome in found.outcomes if outcome.name == name)


def test_good_checks_leave_nothing_unexplained(good: tuple[Assignment, Audit]) -> None:
    """The reference gets everything, the starter nothing, no cheat and no slip gets everything: exit status 0."""
    _, found = good
    assert found.faults == []
    assert found.exit_status == 0
    assert named(found, "the reference").failed == named(found, "added").failed == ()
    assert named(found, "in place").failed == ("input",)
    assert len(named(found, "the starter").failed) == len(found.checks) == 4
    assert [outcome.name for outcome in found.survivors] == [SWAPPED]
    assert named(found, SWAPPED).likeness.startswith("equal bit for bit")


def test_weak_checks_are_shown_to_be_weak(weak: Audit) -> None:
    """A wrong implementation with full marks is named, with how its answers compare; exit status 1."""
    assert weak.exit_status == 1
    assert "ones: wrong, but gets full marks (gives other numbers on some of the inputs)" in weak.faults
    assert any(fault.startswith(f"{SWAPPED}: wrong, but gets full marks (equal bit") for fault in weak.faults)


def test_a_reason_does_not_excuse_wrong_answers(weak: Audit) -> None:
    """Listing a survivor helps only if its answers are the reference's; and a listed name must be a survivor."""
    why = "gives other numbers on some of the inputs"
    assert f"zeros: listed as right after all, but its answers are not ({why})" in weak.faults
    assert "gone: listed in equivalent.toml, but does not get full marks; remove it" in weak.faults


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (Outcome("a", "right", failed=("sum",)), "a: right, but fails sum"),
        (Outcome("a", "right", failed=(), loses=("sum",)), "a: right, but fails nothing where it should fail sum"),
        (Outcome("a", "starter", failed=("sum",)), "a: gets points for shape"),
        (Outcome("a", "cheat", failed=("sum",), unsteady=("sum",)), "a: another seed gives another verdict in sum"),
        (Outcome("a", "mutant", failed=(), broken=("sum: KeyError",)), "a: a check gave no verdict: sum: KeyError"),
    ],
)
def test_whatever_must_not_be_is_a_fault(outcome: Outcome, fault: str) -> None:
    """Right work that loses points, a starter that earns some, chance in a verdict, and a check that breaks."""
    checks = [CheckInfo("sum", "Sums", 2), CheckInfo("shape", "Shapes", 1), CheckInfo("free", "Worth nothing", 0)]
    assert faults([outcome], checks, {}) == [fault]


def test_students_are_sent_to_headings_that_are_there(good: tuple[Assignment, Audit]) -> None:
    """A misconception names the section to read again; one that the handout does not have is a fault."""
    assignment, _ = good

    def y(x: Tensor, *, factor: float = 2.0) -> Tensor:
        return x * factor

    words = {"title": "t", "explanation": "e", "hint": "h"}
    ideas = [
        Misconception(id=section, section=section, knobs={"factor": factor}, **words)
        for section, factor in (("2. Scale", 1.0), ("Scale", 3.0))
    ]
    bank = Bank(arguments=("x",), returns=("y",), implementation=[y], misconceptions=ideas)
    assert misdirected(assignment, bank) == []  # there is no handout
    handout = assignment.public / "README.md"
    try:
        for text in (
            b"# Double\n\n## 2. Scale\n\nScale\n",
            b"2. Scale \n========\n\nScale\n",  # underlined
            b"\xef\xbb\xbf   # 2. Scale ##\n\nScale\n",  # with a mark in front, as some editors leave it
            b"# 2. Scale\n\nScale, by \xe9mile\n",  # not UTF-8
        ):
            handout.write_bytes(text)
            assert misdirected(assignment, bank) == [f"Scale: {handout} has no heading 'Scale'"]
    finally:
        handout.unlink()


SLIPPED = """
import torch

from grader.misconception import Bank, Misconception


def y(x, *, factor="two", noise=False, summed=False):
    factors = {"two": 2, "three": 3}
    if summed:
        return x @ torch.ones(9)
    return x * factors[factor] + (torch.rand(()) if noise else 0)


def idea(name, **knobs):
    return Misconception(id=name, title=name, explanation="Why.", hint="Look.", section="", knobs=knobs)


BANK = Bank(
    arguments=("x",),
    returns=("y",),
    implementation=(y,),
    misconceptions=(
        idea("tripled", factor="three"),
        idea("misspelt", factor="tree"),
        idea("noisy", noise=True),
        idea("wrong_shapes", summed=True),
    ),
)
"""


def test_an_idea_that_can_never_be_named_is_a_fault(tmp_path: Path) -> None:
    """A slip in the bank's own code is told with its error; shapes that the library refuses may be what is meant."""
    assignment = make(tmp_path, hidden=STRICT, misconceptions=SLIPPED)
    (assignment.public / "double.py").write_text(STARTER)
    found = {name: fault for name, _, fault in (line.partition(": ") for line in audit(assignment, jobs=1).faults)}
    assert "KeyError: 'tree'" in found["misspelt"]
    assert "nothing is said" in found["noisy"]
    assert not {"tripled", "wrong_shapes"} & set(found)


def test_two_audits_are_equal_however_many_processes(good: tuple[Assignment, Audit]) -> None:
    """Nothing in it depends on the clock, on the order, or on who did the work."""
    assignment, found = good
    assert dataclasses.asdict(audit(assignment, jobs=2)) == dataclasses.asdict(found)


def test_the_finding_is_shown_in_a_terminal_and_on_a_page(weak: Audit) -> None:
    """Matrix, margins, survivors and faults are in both; code in names is escaped on the page."""
    console = Console(record=True, width=140, file=io.StringIO())
    show(weak, console)
    text, html = console.export_text(), page(weak)
    for word in ("values[gpu]", "random rows that sum to 1", "not explained", "It was here once", "I like them"):
        assert (word in text) == (word in html) == (word != "It was here once")
    assert "return x * 2  =&gt;  return 2 * x" in html


def test_each_survivor_is_told_once(weak: Audit) -> None:
    """One without a reason is a fault and nothing else; one pair is called one pair."""
    console = Console(record=True, width=140, file=io.StringIO())
    show(dataclasses.replace(weak, pairs=1), console)
    told = [line for line in console.export_text().splitlines() if "ones: " in line]
    assert told == ["✗ ones: wrong, but gets full marks (gives other numbers on some of the inputs)"]
    assert "1 pair of them" in summary(dataclasses.replace(weak, pairs=1))[0]
    assert "2 pairs of them" in summary(dataclasses.replace(weak, pairs=2))[0]


def test_a_list_that_is_not_reasons_is_named(tmp_path: Path) -> None:
    """The author learns which entry is wrong and what was expected."""
    with pytest.raises(AssignmentError, match=r"equivalent.toml: zeros: expected"):
        read_listed(course(tmp_path, listed="zeros = 3\n"))


def test_mutants_change_one_place_each() -> None:
    """Operators, constants, names, arguments, statements and conditions, each once and each a program."""
    source = "def f(x, y=2):\n    if y is None:\n        return x\n    z = g(x, dim=-1) + 1\n    return z * y, x\n"
    found = mutants(source)
    sources = [mutant.source for mutant in found]
    assert len(set(sources)) == len(sources) > 25
    kinds = {"operator", "constant", "name", "keyword dropped", "statement dropped", "comparison", "order"}
    assert kinds <= {mutant.kind for mutant in found}
    before = "z = g(x, dim=-1) + 1"
    assert {f"{before}  =>  z = g(x, dim=-2) + 1", f"{before}  =>  pass"} <= {mutant.name for mutant in found}


def test_an_endless_candidate_is_stopped() -> None:
    """A changed loop that never ends costs a moment, and every later call fails at once."""

    def endless() -> None:
        while True:
            pass

    function = limited(endless, seconds=0.05)
    for words in ("took longer", "too long before"):
        with pytest.raises(TimeoutError, match=words):
            function()


def test_attention_pays_right_work_and_nothing_else() -> None:
    """Right routes get everything, the starter nothing, cheats less; the same on two seeds."""
    assignment = load("attention", ROOT)
    accelerator.install()
    loaded = staff.load(assignment)
    names = {"renormalised", "one head at a time", "the starter", "mean of values", "no mask at all"}
    chosen = [candidate for candidate in singles(assignment, loaded) if candidate.name in names]
    assert len(chosen) == len(names)
    share = Trials(assignment, loaded, chosen).run()
    points = {check.id: check.worth for check in share.checks}
    marks = {o.name: sum(points.values()) - sum(points[name] for name in o.failed) for o in share.outcomes}
    assert sum(points.values()) == 100
    assert [outcome for outcome in share.outcomes if outcome.unsteady or outcome.broken] == []
    assert marks["renormalised"] == 100
    assert marks["one head at a time"] == 100 - points["no_loops"]
    assert marks["the starter"] == marks["mean of values"] == 0
    assert 0 < marks["no mask at all"] < 50


def test_an_audit_that_breaks_leaves_no_process_behind() -> None:
    """When one process of the audit fails, the command ends, and so do the others."""

    def share(number: int) -> Share:
        if number == 0:
            raise AssignmentError("broken")
        time.sleep(60)
        raise AssertionError

    with pytest.raises(AssignmentError):
        _in_forks(share, 2)
    assert multiprocessing.active_children() == []
