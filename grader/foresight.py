"""What the checks will ask first, asked for all at once: waking the student's process is the dearest part of a call.

Each check is run once up to the first answer that it needs, which tells what it asks: its inputs depend on its seed and
on nothing else. All of that crosses the wire together. Then the checks run in earnest, and find answers to the very
same calls waiting; whatever else they ask is asked as ever.

A function may remember its calls, so their order is always the same: what the checks ask first, then the rest.

A class shares a few variants of the inputs (`secret.variant`), so what is asked is found out once for each; and where a
check asked for nothing else, its verdict holds for the same answers again, bit for bit, without running it.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import torch
from torch import Tensor

from grader.call import Call, Digests, Invocation
from grader.collect import Checks
from grader.collected import Check
from grader.diagnosis.again import Explained
from grader.results import CheckResult
from grader.sandbox.interface import Session
from grader.sandbox.questions import Questions
from grader.sandbox.wire import Malformed
from grader.student import Student

KEPT = 500
"""Verdicts of each variant: one that failed takes 20 KB with its pictures, so all variants stay under 200 MB."""


class Enough(BaseException):
    """Ends a check once it has told what it asks. Not an Exception, so that no check takes it for a failure."""


@dataclass(frozen=True)
class Judged:
    """What a check made of the answers to its first calls, and in which case it took each of them, in order."""

    result: CheckResult
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """What some checks ask first."""

    questions: Questions
    parts: dict[str, slice]
    """Check id -> where its own are among them."""


@dataclass(frozen=True)
class Variant:
    """What is known of one variant of the inputs."""

    requests: list[Request] = field(default_factory=list)
    """In the order in which they are made."""
    judged: dict[tuple[str, Digests], Judged] = field(default_factory=dict)
    explained: dict[Digests, Explained] = field(default_factory=dict)


def foresee(
    variant: Variant,
    checks: Checks,
    chosen: Sequence[Check],
    session: Session,
    handle: Callable[[Check, Session], Student],
    *,
    apart: bool = False,
) -> Foreseen:
    """`session`, which asks for what the `chosen` checks ask first in one request, when the first of it is needed.

    `variant`: what is known of the inputs; it grows. `handle` gives the student's handle of a check over a session, and
    seeds the check's inputs. `apart`: one request for each check, and none before it is needed. That costs more, but
    what hangs holds up no check before its own.
    """

    def first(check: Check) -> Sequence[Invocation]:
        """What a check asks first."""
        notes = _Notes(session)
        # what it prints is printed when it runs in earnest
        with contextlib.suppress(Enough), contextlib.redirect_stdout(io.StringIO()):
            checks.run(check, handle(check, notes))
        return notes.asked

    def request(group: Sequence[Check]) -> Request:
        state = torch.default_generator.get_state()  # another check may be in the middle of drawing its inputs
        asked: list[Invocation] = []
        parts: dict[str, slice] = {}
        for check in group:
            before = len(asked)
            asked += first(check)
            parts[check.id] = slice(before, len(asked))
        torch.default_generator.set_state(state)
        return Request(Questions(asked), parts)

    def requests() -> Iterator[Request]:
        for number, group in enumerate(groups):
            if number == len(variant.requests):
                variant.requests.append(request(group))
            yield variant.requests[number]

    plain = [check for check in chosen if check.plain and session.together]
    groups = [[check] for check in plain] if apart else [plain] if plain else []
    return Foreseen(session, requests(), frozenset(check.id for check in plain), variant.judged)


class _Notes(Session):
    """Takes down what is asked first, and answers nothing."""

    output = ""
    together = True

    def __init__(self, session: Session) -> None:
        self.loaded, self.layers = session.loaded, session.layers
        self.asked: Sequence[Invocation] = ()

    def calls(self, asked: Sequence[Invocation]) -> NoReturn:
        self.asked = asked
        raise Enough

    def close(self) -> None:
        """Nothing to end."""


class Foreseen(Session):
    """A session that knows what it will be asked, and what was made of the same answers before."""

    def __init__(
        self,
        session: Session,
        foreseen: Iterable[Request],
        names: frozenset[str],
        judged: dict[tuple[str, Digests], Judged],
    ) -> None:
        """`foreseen`: requests to make, in this order and before any other; `names`: of the checks that are in them;
        `judged`: what such checks made of their answers before, which grows."""
        self.loaded, self.layers, self.together = session.loaded, session.layers, session.together
        self._session = session
        self._foreseen = iter(foreseen)
        self._names = names
        self._judged = judged
        self._first: dict[str, list[tuple[Invocation, Call]]] = {}
        """Check id -> its first calls, and what they gave."""
        self._waiting: list[tuple[Invocation, Call]] = []
        """Those of the check in hand that it has not taken yet."""
        self._answers: Digests = ()
        """What the key of the verdict of the check in hand is made of; nothing where a call got no reply, or the check
        was not foreseen."""
        self._surprised = False
        """Whether the check in hand has asked for anything that was not foreseen."""

    @property
    def output(self) -> str:
        return self._session.output

    def calls(self, asked: Sequence[Invocation]) -> list[Call]:
        known = [self._known(one) for one in asked]
        rest = [one for one, call in zip(asked, known, strict=True) if call is None]
        self._surprised |= bool(rest)
        made = iter(self._session.calls(rest))
        return [call or next(made) for call in known]

    def close(self) -> None:
        self._session.close()

    def judged(self, check: Check) -> tuple[CheckResult, list[Call]] | None:
        """The result of a check that has judged the same answers before, and its calls. None: it has to run."""
        self._surprised = False
        while check.id in self._names and check.id not in self._first and self._make_next():
            pass
        self._waiting = self._first.pop(check.id, [])  # answers may be large: once taken, they are the check's alone
        answers = tuple(call.digest for _, call in self._waiting)
        self._answers = answers if all(answers) else ()
        known = self._judged.get((check.id, self._answers)) if self._answers else None
        if known is None:
            return None
        taken = zip(self._waiting, known.cases, strict=False)
        return known.result, [replace(call, check=check.id, case=case) for (_, call), case in taken]

    def keep(self, check: Check, result: CheckResult, calls: Sequence[Call]) -> None:
        """Keep the result of a check that has just run, if it rests on its first calls alone, taken in their order."""
        alone = not self._surprised and self._answers[: len(calls)] == tuple(call.digest for call in calls)
        if self._answers and alone and result.status in ("passed", "failed"):
            if len(self._judged) >= KEPT:
                self._judged.clear()
            self._judged[check.id, self._answers] = Judged(result, tuple(call.case for call in calls))

    def _known(self, asked: Invocation) -> Call | None:
        """The check's own answer to exactly this call, once. None when it was not foreseen: all that was is made by
        then, so that the order of all calls is always the same."""
        for number, (invocation, call) in enumerate(self._waiting):
            if _same(asked, invocation):
                del self._waiting[number]
                return call.handed(asked)
        while self._make_next():
            pass
        return None

    def _make_next(self) -> bool:
        """Make the next of the requests, if there is one."""
        request = next(self._foreseen, None)
        if request is None:
            return False
        made: list[tuple[Invocation, Call]] = []
        with contextlib.suppress(Malformed):  # the check that asks for what can't be sent will say so
            made += zip(request.questions, self._session.calls(request.questions), strict=True)
        self._first.update({name: made[part] for name, part in request.parts.items()})
        return True


def _same(one: Invocation, other: Invocation) -> bool:
    """Whether two calls are bit for bit the same. A NaN among the inputs makes them differ, which costs only time."""
    return (
        (one.device, one.watched) == (other.device, other.watched)
        and _equal(one.args, other.args)
        and _equal(one.kwargs, other.kwargs)
        and _equal(one.cotangents, other.cotangents)
    )


def _equal(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.stride() == other.stride()
            and one.requires_grad == other.requires_grad
            and torch.equal(one, other)
        )
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    return type(one) is type(other) and one == other
