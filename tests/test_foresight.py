"""What checks ask first is asked for all at once. That is to cost less, and to change nothing that anybody reads."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
import torch

from grader import marking, secret, staff
from grader.call import Call
from grader.collect import Checks
from grader.collected import Check, Ending
from grader.foresight import Foreseen
from grader.marker import Marker
from grader.reading.source import Sources
from grader.reporting import Circumstances
from grader.results import CheckResult, Report
from grader.sandbox.confined import ConfinedSandbox, ConfinedSession
from grader.sandbox.questions import Questions
from grader.sandbox.zygote import Zygote
from grader.student import Student
from grader.submission import SourceFile, Submission
from tests import course

CIRCUMSTANCES = Circumstances(secret=b"a secret of the course", level="A", device="emulated")
SETTINGS = course.SETTINGS.replace("call_seconds = 1", "call_seconds = 0.25")


class Counting(ConfinedSandbox):
    """Notes how many calls each request asked for."""

    requests: list[int]

    def open(self, sources: Sources, *, whole: bool = False) -> ConfinedSession:
        session = super().open(sources, whole=whole)
        make = session._made
        self.requests = []

        def made(asked: Questions) -> list[Call]:
            self.requests.append(len(asked))
            return make(asked)

        session._made = made  # type: ignore[method-assign]
        return session


def marked(
    folder: Path,
    root: Zygote,
    code: str,
    hidden: str = course.HIDDEN,
    heard: Callable[[CheckResult], None] | None = None,
) -> tuple[Report, list[int]]:
    """The report on this code, and how many calls each request asked for."""
    assignment = course.make(folder, hidden=hidden, settings=SETTINGS)
    submission = Submission(id="ada", files=[SourceFile("double.py", code.encode())])
    sandbox = Counting(root, assignment.settings)
    reports: list[Report] = []
    Marker(assignment, staff.load(assignment), sandbox, CIRCUMSTANCES, heard).run([submission], reports.append)
    return reports[0], sandbox.requests


def read(report: Report) -> Report:
    """The report without times."""
    checks = [msgspec.structs.replace(check, seconds=0.0) for check in report.checks]
    return msgspec.structs.replace(report, seconds=0.0, checks=checks)


WORKS = {
    "right": course.RIGHT,
    "wrong": "def double(x):\n    return x * 3\n",
    "raises for one size": "def double(x):\n    if x.shape == (2,): raise ValueError(x)\n    return x + x\n",
    "changes its input": "def double(x):\n    return x.mul_(2)\n",
    "leaves for one size": "import os\ndef double(x):\n    if x.shape == (2,): os._exit(0)\n    return x + x\n",
    "hangs for one size": "def double(x):\n    while x.shape == (2,): pass\n    return x + x\n",
    "prints far too much": "def double(x):\n    print('x' * 600_000)\n    return x + x\n",
    "is slow": "import time\ndef double(x):\n    time.sleep(0.03)\n    return x + x\n",
    "answers in another form": "def double(x):\n    return [x, x]\n",
}


@pytest.mark.parametrize("kind", sorted(WORKS))
def test_a_report_is_the_same_as_without_it(
    tmp_path: Path, root: Zygote, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Right, wrong, crashing, hanging, flooding and slow work all get the very same report either way."""
    ahead, _ = marked(tmp_path / "ahead", root, WORKS[kind])
    monkeypatch.setattr(
        marking, "foresee", lambda variant, checks, chosen, session, *_, **__: Foreseen(session, (), frozenset(), {})
    )
    plain, _ = marked(tmp_path / "plain", root, WORKS[kind])
    assert read(ahead) == read(plain)


def test_ordinary_work_is_asked_once_for_everything(tmp_path: Path, root: Zygote) -> None:
    """All first calls go out in one request; what a check asks later, when it knows an answer, in one more."""
    _, requests = marked(tmp_path, root, course.RIGHT)
    assert requests == [4, 1, 1]  # test_sizes asks for its sizes one by one, each when the last is answered


def class_of(folder: Path, root: Zygote, codes: Sequence[str], hidden: str = course.HIDDEN) -> list[Report]:
    """The reports on these, marked one after the other, each with a comment that gives it the first one's inputs."""
    assignment = course.make(folder, hidden=hidden, settings=SETTINGS)
    marker = Marker(assignment, staff.load(assignment), ConfinedSandbox(root, assignment.settings), CIRCUMSTANCES)
    work: list[Submission] = []
    for code in codes:
        texts = (f"{code}# {len(work)}.{number}\n" for number in itertools.count())
        tried = (Submission(id="ada", files=[SourceFile("double.py", text.encode())]) for text in texts)
        work.append(next(one for one in tried if not work or marker.variant(one) == marker.variant(work[0])))
    reports: list[Report] = []
    marker.run(work, reports.append)
    return reports


def apart_from_the_text(report: Report) -> Report:
    """The report without times and without what names the text itself."""
    info = msgspec.structs.replace(report.submission, digest="")
    return msgspec.structs.replace(read(report), submission=info, sources=[])


@pytest.mark.parametrize("kind", sorted(WORKS))
def test_what_is_known_of_the_same_answers_is_what_running_the_checks_gives(
    tmp_path: Path, root: Zygote, kind: str
) -> None:
    """Work marked after other work with the same answers gets the very report that it gets alone."""
    after = class_of(tmp_path / "class", root, [course.RIGHT, WORKS[kind], WORKS["wrong"], WORKS[kind]])
    assert apart_from_the_text(after[3]) == apart_from_the_text(after[1])
    assert after[3].score == marked(tmp_path / "alone", root, WORKS[kind])[0].score


JUDGES = """
import torch

from grader.checks import expect, points


@points(1)
def test_one(student):
    expect.close(student(torch.ones(2)), torch.full((2,), 2.0), bound=0)


@points(1)
def test_more(student):
    expect.true(bool((student(torch.ones(3)) == 2).all()), "not doubled")
    expect.true(bool((student(torch.ones(4)) == 2).all()), "not doubled")


@points(1)
def test_writes_into_the_answer(student):
    first, second = student.later(torch.ones(5)), student.later(torch.ones(6))
    expect.close(first(), torch.full((5,), 2.0), bound=0)
    first().zero_()
    expect.true(bool((second() > 1).all()), "too small")
"""


def test_a_check_runs_again_only_for_answers_that_it_has_not_judged(
    tmp_path: Path, root: Zygote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What asks for more when it knows an answer runs each time; so does what gets another answer to any call. What a
    check does to an answer is not seen by those who are marked later."""
    run, ran = Checks.run, []

    def counted(self: Checks, check: Check, student: Student, **options: bool) -> Ending:
        if isinstance(student._session, Foreseen):
            ran.append(check.id)
        return run(self, check, student, **options)

    monkeypatch.setattr(Checks, "run", counted)
    other = "def double(x):\n    return x + x - int(len(x) == 6)\n"
    reports = class_of(tmp_path, root, [course.RIGHT, course.RIGHT, other], JUDGES)
    assert ran == ["one", "more", "writes_into_the_answer", "more", "more", "writes_into_the_answer"]
    assert [report.score for report in reports] == [3, 3, 2]


def test_answers_are_gone_when_their_work_is_marked(tmp_path: Path, root: Zygote) -> None:
    """They may be as large as the limits allow, so nothing of them waits for Python to tidy up."""
    large = "def double(x):\n    return x.new_ones(2_000_000)\n"
    gc.collect()
    gc.disable()
    try:
        class_of(tmp_path, root, [large, large])
        left = [one for one in gc.get_objects() if isinstance(one, torch.Tensor) and one.numel() == 2_000_000]
    finally:
        gc.enable()
    assert left == []


WRITES = """
import torch

from grader.checks import expect, points


@points(1)
def test_writes(student, reference):
    x = torch.ones(3)
    answer, wanted = student(x), reference(x)
    expect.close(torch.tensor(answer.numpy()), torch.tensor(wanted.numpy()), bound=0)
    {}
    student(torch.ones(4))  # asked when an answer is known, so this check runs for everybody
"""


@pytest.mark.parametrize(
    "write",
    [
        "answer.numpy().fill(7)",
        "answer.data.zero_()",
        "answer.requires_grad_()",
        "student.last.args[0].zero_()",
        "student.last.after[0].zero_()",
        "wanted.numpy().fill(7)",
        "wanted.requires_grad_()",
    ],
)
def test_what_a_check_writes_into_is_its_own(tmp_path: Path, root: Zygote, write: str) -> None:
    """Answers, inputs and expected values are as they were for those who are marked later, whatever a check does."""
    third_is_wrong = (
        "made = 0\ndef double(x):\n    global made\n    made += 1\n    return x * (3 if made == 3 else 2)\n"
    )
    reports = class_of(tmp_path, root, [course.RIGHT, course.RIGHT, third_is_wrong], WRITES.format(write))
    assert [report.score for report in reports] == [1, 1, 1]


TWICE = """
import torch

from grader.checks import expect, points

X = torch.ones(3)


@points(1)
def test_asks_again(student):
    expect.close(student(X), 2 * X, bound=0)
    student(X)


@points(1)
def test_asks_the_same(student):
    expect.close(student(X), 2 * X, bound=0)
"""


def test_a_check_gets_the_answers_to_its_own_calls(tmp_path: Path, root: Zygote) -> None:
    """Of two checks that ask the same, none takes the other's answer: which it was would depend on who was before."""
    first, third = (
        f"made = 0\ndef double(x):\n    global made\n    made += 1\n    return x * (3 if made == {number} else 2)\n"
        for number in (1, 3)
    )
    reports = class_of(tmp_path / "class", root, [first, third], TWICE)
    alone, _ = marked(tmp_path / "alone", root, third, TWICE)
    assert [check.status for check in alone.checks] == ["passed", "passed"]
    assert apart_from_the_text(reports[1]).checks == read(alone).checks


NOT_FORESEEN_FIRST = """
import pytest
import torch

from grader.checks import points


@points(1)
@pytest.mark.skip(reason="not this year")
def test_skipped(student):
    student(torch.zeros(1))


@points(1)
def test_plain(student):
    student(torch.ones(2))
"""


def test_a_result_waits_for_no_later_answer(tmp_path: Path, root: Zygote) -> None:
    """Who hears of each result at once hears of a skipped check before the next one's call, which may hang."""
    assignment = course.make(tmp_path, hidden=NOT_FORESEEN_FIRST, settings=SETTINGS)
    sandbox = Counting(root, assignment.settings)
    requests: list[int] = []
    marker = Marker(
        assignment, staff.load(assignment), sandbox, CIRCUMSTANCES, lambda _: requests.append(sum(sandbox.requests))
    )
    marker.run([Submission(id="ada", files=[SourceFile("double.py", course.RIGHT.encode())])], lambda _: None)
    assert [made - requests[0] for made in requests] == [0, 1]


def test_a_class_shares_a_few_sets_of_inputs(tmp_path: Path) -> None:
    """Which one a submission gets depends on its text and on the secret, and on nothing else."""
    texts = [str(number) for number in range(500)]
    mine, yours = ([secret.variant(key, text) for text in texts] for key in (b"mine" * 4, b"yours" * 4))
    assert set(mine) == set(yours) == set(range(secret.VARIANTS))
    assert mine != yours
    assert mine == [secret.variant(b"mine" * 4, text) for text in texts]


TWO_STEPS = """
import torch

from grader.checks import expect, points


@points(1)
def test_two_steps(student):
    for _ in range(3):
        x = torch.randn(3)
        expect.close(student(x), 2 * x, bound=1e-6)


@points(1)
def test_one_step(student):
    x = torch.randn(3)
    expect.close(student(x), 2 * x, bound=1e-6)
"""


def test_who_hears_of_each_result_at_once_hears_the_same(tmp_path: Path, root: Zygote) -> None:
    """A place that can't wait for the report marks a function that remembers its calls like the grader at home."""
    remembers = (
        "made = 0\ndef double(x):\n    global made\n    made += 1\n    return x * (3 if made in (2, 4) else 2)\n"
    )
    heard: list[CheckResult] = []
    at_home, _ = marked(tmp_path / "home", root, remembers, TWO_STEPS)
    elsewhere, requests = marked(tmp_path / "elsewhere", root, remembers, TWO_STEPS, heard.append)
    assert read(at_home) == read(elsewhere)
    assert [check.status for check in at_home.checks] == ["failed", "failed"]
    assert all(check.pictures for check in at_home.checks)  # the numbers of the inputs are in them
    assert [result.id for result in heard] == ["two_steps", "one_step"]
    assert requests == [1, 1, 1, 1]


OWN = """
import time

import pytest
import torch

from grader.checks import expect, points


@pytest.fixture
def size():
    return 3


@points(1)
def test_own_fixture(student, size):
    x = torch.randn(size)
    expect.close(student(x), 2 * x, bound=1e-6)


@points(1)
def test_not_repeatable(student):
    x = torch.full((2,), time.perf_counter())
    expect.close(student(x), 2.0 * x.double(), bound=1e-3)


@points(1)
@pytest.mark.skip(reason="not this year")
def test_skipped(student):
    student(torch.zeros(1))


@points(1)
@pytest.mark.parametrize("number", [2, 3])
class TestInside:
    def test_method(self, student, number):
        x = torch.randn(number)
        expect.close(student(x), 2 * x, bound=1e-6)
"""


AUTHORS = """
import sys

import pytest
import torch

from grader.checks import expect, points


@pytest.fixture
def size(request):
    return 10 * request.param


@pytest.fixture
def reference():
    return lambda x: x + x


@points(1)
@pytest.mark.parametrize("size", [2], indirect=True)
def test_through_a_fixture(student, size):
    assert size == 20
    student(torch.randn(size))


@points(1)
def test_own_reference(student, reference):
    x = torch.randn(3)
    expect.close(student(x), reference(x), bound=1e-6)


@points(1)
def test_default(student, size=3):
    student(torch.randn(size))


@points(1)
def test_prints(student):
    print("one line")
    student(torch.randn(2))
    sys.stdout.flush()


@points(1)
def test_leaves(student):
    sys.exit("no")


@points(1)
def test_never_takes_an_answer(student):
    student.later(torch.randn(2))


@points(1)
def test_takes_an_answer_twice(student):
    answer = student.later(torch.randn(2))
    expect.equal(answer(), answer())


@points(1)
def test_looks_too_early(student):
    student.later(torch.randn(2))
    expect.unchanged(student.last)


@points(1)
def test_changes_what_it_asked_with(student):
    x = torch.randn(2)
    first = student.later(x)
    second = student.later(x.add_(1))
    expect.equal(first(), second())


@points(1)
def test_changes_what_it_looks_at(student):
    x = torch.randn(2)
    student(x)
    x.zero_()
    expect.unchanged(student.last)


@points(1)
def test_skips_inside(student):
    student(torch.randn(2))
    pytest.skip("not here")
"""


def test_what_authors_do_is_no_fault_of_a_students(
    tmp_path: Path, root: Zygote, capsys: pytest.CaptureFixture[str]
) -> None:
    """What pytest allows works; what can't work ends as an error with words for staff; nothing becomes a zero."""
    report, _ = marked(tmp_path, root, course.RIGHT, AUTHORS)
    checks = {check.id: check for check in report.checks}
    works = {"through_a_fixture[2]", "own_reference", "default", "prints", "takes_an_answer_twice"}
    assert {name for name, check in checks.items() if check.status == "passed"} == works
    assert checks["skips_inside"].status == "skipped"
    assert "without calling" in checks["never_takes_an_answer"].detail
    assert "before any answer" in checks["looks_too_early"].detail
    assert "Change a clone" in checks["changes_what_it_asked_with"].detail
    assert "Change a clone" in checks["changes_what_it_looks_at"].detail
    assert "SystemExit" in checks["leaves"].detail
    assert [check.id for check in report.checks if check.status == "failed"] == []
    assert capsys.readouterr().out.count("one line") == 1


UNSENDABLE = """
import torch

from grader.checks import points


@points(1)
def test_sparse(student):
    student(torch.eye(2).to_sparse())
{}
"""
ANOTHER = """
@points(1)
def test_dense(student):
    student(torch.eye(2))
"""


@pytest.mark.parametrize("others", ["", ANOTHER], ids=["alone", "among others"])
def test_an_argument_that_can_not_be_sent_is_that_checks_error(tmp_path: Path, root: Zygote, others: str) -> None:
    """A check that asks for the impossible is an error of its own, and the others run."""
    report, _ = marked(tmp_path, root, course.RIGHT, UNSENDABLE.format(others))
    assert [check.status for check in report.checks] == ["error", "passed"][: 1 + bool(others)]
    assert "can't be sent" in report.checks[0].detail


def test_checks_of_every_kind_still_run(tmp_path: Path, root: Zygote) -> None:
    """Fixtures of the author's, marks, classes, and inputs that differ from one time to the next are all heeded."""
    report, _ = marked(tmp_path, root, course.RIGHT, OWN)
    assert {check.id: check.status for check in report.checks} == {
        "own_fixture": "passed",
        "not_repeatable": "passed",
        "skipped": "skipped",
        "method[2]": "passed",
        "method[3]": "passed",
    }
