"""What checks ask first is asked for all at once. That is to cost less, and to change nothing that anybody reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from grader import marker as marking
from grader import staff
from grader.call import Call, Invocation
from grader.marker import Marker
from grader.reading.source import Sources
from grader.reporting import Circumstances
from grader.results import Report
from grader.sandbox import confined, zygote
from grader.sandbox.child import StudentProcess
from grader.sandbox.confined import ConfinedSandbox, ConfinedSession
from grader.sandbox.zygote import Zygote
from grader.submission import SourceFile, Submission
from tests import course

CIRCUMSTANCES = Circumstances(secret=b"a secret of the course", level="A", device="emulated")
SETTINGS = course.SETTINGS.replace("call_seconds = 1", "call_seconds = 0.4")


@pytest.fixture(scope="module")
def root() -> Iterator[Zygote]:
    body = StudentProcess(from_scratch=[], trains=False, accelerator_name="emulated")
    started = zygote.start(body.warm, body)
    yield started
    started.close()


class Counting(ConfinedSandbox):
    """Notes how many calls each request asked for."""

    requests: list[int]

    def open(self, sources: Sources, *, whole: bool = False) -> ConfinedSession:
        session = super().open(sources, whole=whole)
        make = session._made
        self.requests = []

        def made(asked: list[Invocation], seconds: float) -> list[Call]:
            self.requests.append(len(asked))
            return make(asked, seconds)

        session._made = made  # type: ignore[method-assign,assignment]
        return session


def marked(folder: Path, root: Zygote, code: str, hidden: str = course.HIDDEN) -> tuple[Report, list[int]]:
    """The report on this code, and how many calls each request asked for."""
    assignment = course.make(folder, hidden=hidden, settings=SETTINGS)
    submission = Submission(id="ada", files=[SourceFile("double.py", code.encode())])
    sandbox = Counting(root, assignment.settings)
    reports: list[Report] = []
    Marker(assignment, staff.load(assignment), sandbox, CIRCUMSTANCES).run([submission], reports.append)
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
    monkeypatch.setattr(confined, "AHEAD_SECONDS", 0.1)  # too little for the slow one
    ahead, _ = marked(tmp_path / "ahead", root, WORKS[kind])
    monkeypatch.setattr(marking, "foresee", lambda checks, chosen, session, handle: session)
    plain, _ = marked(tmp_path / "plain", root, WORKS[kind])
    assert read(ahead) == read(plain)


def test_ordinary_work_is_asked_once_for_everything(tmp_path: Path, root: Zygote) -> None:
    """All first calls go out in one request; what a check asks later, when it knows an answer, in one more."""
    _, requests = marked(tmp_path, root, course.RIGHT)
    assert requests == [4, 1, 1]  # test_sizes asks for its sizes one by one, each when the last is answered


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
