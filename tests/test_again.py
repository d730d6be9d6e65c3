"""Who makes the same mistake as somebody before gets the same explanation, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from grader.call import Call, Failure
from grader.diagnosis import again
from grader.diagnosis.inquiry import Ask
from grader.misconception import Bank
from grader.results import DiagnosisResult

CALLS = [Call((torch.ones(1),), digest=b"one"), Call((torch.ones(2),), digest=b"two")]


class Student:
    """Answers further questions with these digests, in turn; an empty one is a time-out."""

    def __init__(self, *digests: bytes) -> None:
        self.digests = list(digests)
        self.asked: list[int] = []

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        self.asked.append(int(args[0]))
        digest = self.digests.pop(0)
        return Call(args, digest=digest, failure=None if digest else Failure("timeout", "", ""))


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[list[bytes]]:
    """The answers with which each search was made: it asks two questions and names the answers to them."""
    made: list[list[bytes]] = []

    def diagnose(calls: Sequence[Call], bank: Bank, bounds: object, *, ask: Ask) -> list[DiagnosisResult]:
        made.append([ask((torch.tensor(number),), {}).digest for number in (7, 8)])
        return [DiagnosisResult(misconceptions=[str(made[-1])], title="", explanation="")]

    monkeypatch.setattr(again, "diagnose", diagnose)
    return made


def explained(known: dict[Any, Any], student: Student, calls: Sequence[Call] = CALLS) -> list[str]:
    bank: Any = None
    return again.explain(known, calls, bank, None, student)[0].misconceptions


def test_the_same_answers_are_searched_once(searched: list[list[bytes]]) -> None:
    """The further questions are put again, and where all is as before, so is the explanation."""
    known: dict[Any, Any] = {}
    students = [Student(b"a", b"b") for _ in range(2)]
    assert explained(known, students[0]) == explained(known, students[1]) == [str([b"a", b"b"])]
    assert searched == [[b"a", b"b"]]
    assert students[1].asked == [7, 8]


@pytest.mark.parametrize("answers", [(b"x", b"b"), (b"a", b"x")], ids=["first", "second"])
def test_another_answer_to_a_further_question_is_searched_with(
    searched: list[list[bytes]], answers: tuple[bytes, bytes]
) -> None:
    """Nobody gets the explanation of another's answers, and no question is put twice."""
    known: dict[Any, Any] = {}
    explained(known, Student(b"a", b"b"))
    other = Student(*answers)
    assert explained(known, other) == [str(list(answers))]
    assert other.asked == [7, 8]


def test_what_has_no_reply_is_searched_each_time(searched: list[list[bytes]]) -> None:
    """A time-out, in the checks or afterwards, need not come again."""
    known: dict[Any, Any] = {}
    for _ in range(2):
        explained(known, Student(b"a", b""))
        explained(known, Student(b"a", b"b"), [*CALLS, Call((), failure=Failure("timeout", "", ""))])
    assert len(searched) == 4
