"""Submissions that try to raise their mark: none gets more than honest work of the same quality would."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from grader import arena, results, staff
from grader.assignment import Assignment, Limits
from grader.entry import Unit
from grader.marker import Marker
from grader.reading.source import Sources
from grader.reporting import Circumstances
from grader.results import Report
from grader.sandbox.confined import ConfinedSandbox, ConfinedSession
from grader.sandbox.zygote import Zygote
from grader.submission import SourceFile, Submission
from tests import course

ATTACKS = arena.attacks("tamper")
LIBRARY = arena.attacks("library")
ZEROS = "def double(x):\n    return x * 0\n"


def submission(name: str, text: str, **others: str) -> Submission:
    """A submission whose double.py is `text`; `others` are the contents of further files, "_" for the dot."""
    files = {"double.py": text, **{path.replace("__", "/").replace("_", "."): body for path, body in others.items()}}
    return Submission(id=name, files=[SourceFile(path, body.encode()) for path, body in files.items()])


def mark(
    root: Zygote, assignment: Assignment, work: Sequence[Submission], secret: bytes = b"a secret of the course"
) -> dict[str, Report]:
    """Mark these one after the other, as one marker does."""
    sandbox = ConfinedSandbox(root, assignment.settings)
    circumstances = Circumstances(secret=secret, level="A", device="emulated")
    reports: dict[str, Report] = {}
    marker = Marker(assignment, staff.load(assignment), sandbox, circumstances)
    marker.run(work, lambda report: reports.__setitem__(report.submission.id, report))
    return reports


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    return course.make(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def reports(root: Zygote, double: Assignment) -> dict[str, Report]:
    """The whole group marked in one run, an honest submission before, between and after."""
    work = [submission("first", course.RIGHT), submission("zeros", ZEROS)]
    work += [submission(attack.path.stem, attack.source) for attack in ATTACKS]
    work += [submission("last", course.RIGHT)]
    return mark(root, double, work)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.path.stem)
def test_mark_is_not_raised(attack: arena.Attack, reports: dict[str, Report]) -> None:
    """The score is at most that of honest work as good, over the same denominator, and nothing of ours broke."""
    report = reports[attack.path.stem]
    worth = re.search(r"Worth: (\d+)", attack.source)
    assert worth
    assert report.score <= float(worth[1]), [(check.id, check.status, check.message) for check in report.checks]
    assert report.max_score == reports["first"].max_score
    assert report.status == "graded", [check.detail for check in report.checks]
    assert {check.status for check in report.checks} <= {"passed", "failed"}
    assert results.decode(results.encode(report)) == report


def test_honest_work_is_not_hurt(reports: dict[str, Report]) -> None:
    """Right work gets everything before and after all attacks; zeros get what zeros are worth."""
    assert reports["first"].score == reports["last"].score == reports["first"].max_score == 10
    assert reports["zeros"].score == 6


@pytest.mark.parametrize(
    "name", ["01_patch_comparisons", "02_walk_frames", "06_exit_with_success", "07_forge_on_channel"]
)
def test_reaching_out_is_flagged(name: str, reports: dict[str, Report]) -> None:
    """Staff see which lines of a submission reach for the machinery around it; honest work has no such flag."""
    assert "reaches-out" in {flag.id for flag in reports[name].flags}
    assert not reports["first"].flags


def test_files_beside_the_submission(root: Zygote, double: Assignment, world: arena.World) -> None:
    """14. conftest.py, sitecustomize.py, pytest.ini or a torch.py of one's own change nothing on the trusted side."""
    trick = f"open('/tmp/{world.word}-imported', 'w').write('x')\n"
    hook = trick + "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"
    names = "conftest sitecustomize usercustomize test_hidden pytest numpy bounds grader__expect grader____init__"
    others = {f"{name}_py": hook for name in names.split()}
    others |= {"pytest_ini": "[pytest]\naddopts = --co\n", "setup_cfg": "[tool:pytest]\naddopts = --co\n"}
    work = [
        submission("tricked", ZEROS, **others),
        submission("own torch", "import torch\n" + ZEROS, torch_py=hook, **others),
        submission("after", course.RIGHT),
    ]
    reports = mark(root, double, work)
    assert reports["tricked"].score <= 6
    assert reports["own torch"].score <= 6
    assert reports["after"].score == 10
    assert not world.disturbed()


def test_inputs_can_not_be_guessed(root: Zygote, double: Assignment) -> None:
    """27. The inputs depend on the course's secret and on the work itself, and the same work gets the same again."""
    source = course.RIGHT.replace("return", "print(float(x.reshape(-1)[0]), end=' '); return")
    drawn = [
        mark(root, double, [submission("a", text)], secret)["a"].output
        for text, secret in (
            (source, b"one secret of the course"),
            (source, b"one secret of the course"),
            (source, b"another secret of the course"),
            (source + "# changed\n", b"one secret of the course"),
        )
    ]
    assert drawn[0]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def attention(root: Zygote, text: str) -> ConfinedSession:
    """A session on work for an assignment that forbids the library's attention."""
    limits = Limits(load_seconds=20, call_seconds=20, total_seconds=40)  # the compiler takes seconds to be imported
    settings = arena.settings(limits, function="scaled_dot_product_attention")
    return ConfinedSandbox(root, settings).open(Sources([Unit("attention.py", None, text)], main="attention.py"))


@pytest.mark.parametrize("attack", LIBRARY, ids=lambda attack: attack.path.stem)
def test_library_is_out_of_reach(attack: arena.Attack, from_scratch: Zygote) -> None:
    """69. The library's own attention can't be reached on any way, and the student reads why."""
    session = attention(from_scratch, attack.source)
    Q, K, V = (torch.randn(1, 2, 3, 4) for _ in range(3))
    call = session.call((Q, K, V), {})
    session.close()
    assert call.failure is not None, call.operators
    assert "not allowed here" in call.failure.message, call.failure


@pytest.mark.parametrize("attack", [a for a in LIBRARY if not a.never], ids=lambda attack: attack.path.stem)
def test_way_to_the_library_is_real(attack: arena.Attack, root: Zygote) -> None:
    """Where an assignment forbids nothing, the same submission gets its numbers from the library."""
    session = attention(root, attack.source)
    Q, K, V = (torch.randn(1, 2, 3, 4) for _ in range(3))
    call = session.call((Q, K, V), {})
    session.close()
    assert call.failure is None, call.failure


def test_own_attention_is_fine(from_scratch: Zygote) -> None:
    """69. Softmax, matmul, einsum, a layer and an optimiser stay allowed where the library's attention is not."""
    source = '''
import torch
from torch import nn


def scaled_dot_product_attention(Q, K, V, mask=None):
    """Not F.scaled_dot_product_attention, of course."""
    scores = torch.einsum("...qd,...kd->...qk", Q, K) / Q.size(-1) ** 0.5
    weights = nn.Softmax(dim=-1)(scores)
    assert torch.allclose(weights, torch.softmax(torch.matmul(Q, K.mT) / Q.size(-1) ** 0.5, -1), atol=1e-5)
    return weights @ V, weights
'''
    session = attention(from_scratch, source)
    Q, K, V = (torch.randn(1, 2, 3, 4) for _ in range(3))
    call = session.call((Q, K, V), watched=True)
    session.close()
    assert call.failure is None, call.failure
    assert session.loaded.banned == []
    assert "softmax" in " ".join(call.ops)


def test_marker_changes_into_no_submission(reports: dict[str, Report]) -> None:
    """14. After a whole run the marker is where it was, with nothing of a submission on its path."""
    assert Path.cwd() == arena.ROOT or not str(Path.cwd()).startswith("/tmp/submission-")
    assert not [path for path in sys.path if "submission-" in path]
