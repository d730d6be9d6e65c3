"""Run the audit's candidates through the hidden checks, and measure what the comparisons measured."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from grader import agreement, secret
from grader.assignment import Assignment
from grader.auditing import naming
from grader.auditing.candidates import Candidate, Kind, limited, refusing
from grader.call import Call
from grader.collect import Checks, collect
from grader.collected import Check
from grader.expect import gauge
from grader.results import Status
from grader.sandbox.fake import FakeSession
from grader.staff import Staff

SECRETS = (b"first secret of the audit", b"second secret of the audit")
MANY = 8
"""Seeds from which the inputs come on which a survivor is compared with the reference."""

Verdicts = dict[str, tuple[Status, str]]
"""Check id -> (status, last line of what went wrong on our side)."""


@dataclass(frozen=True)
class CheckInfo:
    """A check as the audit shows it."""

    id: str
    title: str
    worth: float


@dataclass(frozen=True)
class Outcome:
    """How the checks judged one candidate."""

    name: str
    kind: Kind
    failed: tuple[str, ...]
    """Ids of the checks that it failed."""
    broken: tuple[str, ...] = ()
    """Checks that gave no verdict, and why."""
    unsteady: tuple[str, ...] = ()
    """Checks whose verdict another seed changes."""
    loses: tuple[str, ...] = ()
    """Ids of the checks that a right one fails by intention."""
    slip: str = ""
    """Of a misconception: the error of its own that its implementation in the bank ends in."""
    unnamed: str = ""
    """Of a misconception that is not named when its own answers are diagnosed: what is said instead."""
    likeness: str = ""
    """Of a survivor: how its answers compare with the reference's."""
    alike: bool = False

    @property
    def survived(self) -> bool:
        return self.kind not in ("right", "starter") and not self.failed and not self.broken


@dataclass(frozen=True)
class Gauge:
    """What one comparison of one check measured over all candidates, in units of its tolerance."""

    right: float = 0.0
    """The largest error among right answers."""
    wrong: float = float("inf")
    """The smallest error of a wrong answer that it caught."""
    nearest: str = ""
    """Whose error that was."""
    caught: int = 0

    def with_(self, other: Gauge) -> Gauge:
        """Both together."""
        near = min(self, other, key=lambda each: each.wrong)
        return Gauge(max(self.right, other.right), near.wrong, near.nearest, self.caught + other.caught)


@dataclass
class Share:
    """What one process found."""

    checks: list[CheckInfo] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    """Of all its candidates but the pairs that were caught."""
    gauges: dict[tuple[str, str], Gauge] = field(default_factory=dict)
    """(check, what was compared) -> measured."""


class Trials:
    """The candidates of one process."""

    def __init__(
        self,
        assignment: Assignment,
        staff: Staff,
        candidates: Sequence[Candidate],
        known: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """`known`: name -> checks that it failed. Of a pair they are tried first, and the first that fails will do."""
        self.assignment = assignment
        self.staff = staff
        self.candidates = candidates
        self.known = known or {}
        self.share = Share()
        self._asked: list[Call] = []

    def run(self) -> Share:
        """Collect the checks once and try everything."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # wrong code draws warnings; here it is wrong on purpose
            collect(self.assignment.hidden_checks, Checks(self.staff.in_double, self._work))
        return self.share

    def _work(self, checks: Checks) -> None:
        agreement.require_checks(self.assignment, [check.id for check in checks.checks])
        self.share.checks = [CheckInfo(check.id, check.title, check.worth) for check in checks.checks]
        for candidate in self.candidates:
            if candidate.kind != "pair" or not self._caught(checks, candidate):
                self.share.outcomes.append(self._judge(checks, candidate))

    def _inputs(self, checks: Checks) -> list[Call]:
        """What the checks ask, for several seeds. Only a survivor needs it, and there may be none."""
        if not self._asked:
            calls: list[Call] = []
            reference = Candidate("the reference", "right", lambda: self.staff.reference)
            for number in range(MANY):
                self._verdicts(checks, reference, b"inputs %d of the audit" % number, calls)
            self._asked = [call for call in calls if call.device == "cpu"]
        return self._asked

    def _judge(self, checks: Checks, candidate: Candidate) -> Outcome:
        calls: list[Call] = []
        first = self._verdicts(checks, candidate, SECRETS[0], calls)
        again = self._verdicts(checks, candidate, SECRETS[1], [], impatient=True)
        outcome = Outcome(
            name=candidate.name,
            kind=candidate.kind,
            failed=tuple(name for name, (status, _) in first.items() if status == "failed"),
            broken=tuple(f"{name}: {why}" for name, (status, why) in first.items() if status in ("error", "skipped")),
            unsteady=tuple(name for name in first if first[name][0] != again[name][0]),
            loses=candidate.loses,
        )
        if not outcome.survived:
            slip = naming.slip(calls) if candidate.kind == "misconception" else ""
            ask = self._session(candidate).call
            unnamed = naming.said_instead(candidate.idea, calls, self.staff, ask) if candidate.idea and not slip else ""
            return replace(outcome, slip=slip, unnamed=unnamed)
        alike, likeness = compare(candidate.make(), self.staff, self._inputs(checks))
        return replace(outcome, alike=alike, likeness=likeness)

    def _verdicts(
        self, checks: Checks, candidate: Candidate, key: bytes, calls: list[Call], *, impatient: bool = False
    ) -> Verdicts:
        session = self._session(candidate)
        return {
            check.id: self._run(checks, check, session, candidate, key, calls, impatient=impatient)
            for check in checks.checks
        }

    def _caught(self, checks: Checks, candidate: Candidate) -> bool:
        session = self._session(candidate)
        suspects = {name for part in candidate.parts for name in self.known.get(part, ())}
        order = sorted(checks.checks, key=lambda check: (check.id not in suspects, check.device != "cpu", -check.worth))
        verdicts = (self._run(checks, check, session, candidate, SECRETS[0], [], impatient=True) for check in order)
        return any(status == "failed" for status, _ in verdicts)

    def _session(self, candidate: Candidate) -> FakeSession:
        return FakeSession(limited(refusing(candidate.make(), self.assignment.settings.from_scratch)))

    def _run(
        self,
        checks: Checks,
        check: Check,
        session: FakeSession,
        candidate: Candidate,
        key: bytes,
        calls: list[Call],
        *,
        impatient: bool = False,
    ) -> tuple[Status, str]:
        torch.default_generator.manual_seed(secret.seed(key, candidate.name, check.id))
        student = check.student(session, self.assignment.settings, calls)
        errors: dict[str, float] = {}
        token = gauge.set(lambda what, error: errors.update({what: max(error, errors.get(what, 0.0))}))
        try:
            ending = checks.run(check, student, impatient=impatient)
        finally:
            gauge.reset(token)
        for what, error in errors.items():
            self._measured((check.id, what), error, candidate)
        return ending.status, ending.detail.strip().rpartition("\n")[2]

    def _measured(self, key: tuple[str, str], error: float, candidate: Candidate) -> None:
        if candidate.kind == "right":
            found = Gauge(right=error)
        elif error > 1.0:
            found = Gauge(wrong=error, nearest=candidate.name, caught=1)
        else:
            return
        self.share.gauges[key] = self.share.gauges.get(key, Gauge()).with_(found)


def compare(function: Callable[..., Any], staff: Staff, inputs: Sequence[Call]) -> tuple[bool, str]:
    """(whether its answers are the reference's on all inputs, that in words).

    Alike means equal bit for bit, or within the assignment's bounds where it has them.
    """
    largest, exact = 0.0, 0
    for call in inputs:
        try:
            got, want = (_answer(each, call) for each in (function, staff.reference))
        except Exception as problem:
            return False, f"stops with {type(problem).__name__} on some of the inputs"
        if [x.shape for x in got] != [x.shape for x in want]:
            return False, "gives other shapes on some of the inputs"
        if all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(got, want, strict=True)):
            exact += 1
        elif staff.bounds is None:
            return False, "gives other numbers on some of the inputs"
        else:
            largest = max(largest, _error(got, want, staff.bounds(*call.args, **call.kwargs)))
    if exact == len(inputs):
        return True, f"equal bit for bit on {exact} inputs"
    return largest <= 1.0, f"on {len(inputs)} inputs the largest difference is {largest:.2g} of what is allowed"


def _answer(function: Callable[..., Any], call: Call) -> tuple[Tensor, ...]:
    args = tuple(item.detach().clone() if isinstance(item, Tensor) else item for item in call.args)
    answer = function(*args, **call.kwargs)
    return (answer,) if isinstance(answer, Tensor) else tuple(answer)


def _error(got: Sequence[Tensor], want: Sequence[Tensor], bounds: tuple[Tensor, ...] | Tensor) -> float:
    """The largest error in units of its bound. Where the reference has NaN, anything goes."""
    largest = 0.0
    for a, b, limit in zip(got, want, bounds if isinstance(bounds, tuple) else (bounds,), strict=True):
        error = (a.double() - b.double()).abs() / limit.clamp_min(torch.finfo(torch.float64).tiny)
        error = torch.where(b.isnan(), 0.0, error.nan_to_num(torch.inf))
        largest = max(largest, float(error.max()))
    return largest
