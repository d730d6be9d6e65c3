"""What the checks will ask first, asked for all at once: waking the student's process is the dearest part of a call.

Each check is run once up to the first answer that it needs, which tells what it asks: its inputs depend on its seed and
on nothing else. All of that crosses the wire together. Then the checks run in earnest, and find answers to the very
same calls waiting; whatever else they ask is asked as ever.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from typing import NoReturn

import torch
from torch import Tensor

from grader.call import Call, Invocation
from grader.collect import Checks
from grader.collected import Check
from grader.sandbox.interface import Session
from grader.sandbox.wire import Malformed
from grader.student import Student


class Enough(BaseException):
    """Ends a rehearsal. Not an Exception, so that no check takes it for a failure."""


def foresee(
    checks: Checks, chosen: Sequence[Check], session: Session, handle: Callable[[Check, Session], Student]
) -> Session:
    """`session`, with what the `chosen` checks ask first already answered.

    `handle` gives the student's handle of a check over a session, and seeds the check's inputs.
    """
    if not session.together:
        return session
    notes = _Notes(session)
    with contextlib.redirect_stdout(io.StringIO()):  # what a check prints is printed when it runs in earnest
        for check in chosen:
            if check.plain:
                with contextlib.suppress(Enough):
                    checks.run(check, handle(check, notes))
    try:
        made = session.calls(notes.asked)
    except Malformed:  # the check that asks for what can't be sent will say so
        return session
    return _Foreseen(session, list(zip(notes.asked, made, strict=True)))


class _Notes(Session):
    """Takes down what is asked first, and answers nothing."""

    output = ""
    together = True

    def __init__(self, session: Session) -> None:
        self.loaded, self.layers = session.loaded, session.layers
        self.asked: list[Invocation] = []

    def calls(self, asked: Sequence[Invocation]) -> NoReturn:
        self.asked += asked
        raise Enough

    def close(self) -> None:
        """Nothing to end."""


class _Foreseen(Session):
    """A session some of whose calls have been made."""

    together = True

    def __init__(self, session: Session, made: list[tuple[Invocation, Call]]) -> None:
        self.loaded, self.layers = session.loaded, session.layers
        self._session = session
        self._made = made

    @property
    def output(self) -> str:
        return self._session.output

    def calls(self, asked: Sequence[Invocation]) -> list[Call]:
        known = [self._known(one) for one in asked]
        rest = iter(self._session.calls([one for one, call in zip(asked, known, strict=True) if call is None]))
        return [call or next(rest) for call in known]

    def _known(self, asked: Invocation) -> Call | None:
        """The answer to exactly this call, once."""
        for number, (invocation, call) in enumerate(self._made):
            if _same(asked, invocation):
                del self._made[number]
                return call
        return None

    def close(self) -> None:
        self._session.close()


def _same(one: Invocation, other: Invocation) -> bool:
    """Whether two calls are bit for bit the same. A NaN among the inputs makes them differ, which costs only time."""
    return (
        (one.device, one.watched, one.function) == (other.device, other.watched, other.function)
        and _equal(one.args, other.args)
        and _equal(one.kwargs, other.kwargs)
        and _equal(one.cotangents, other.cotangents)
    )


def _equal(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return (one.dtype, one.shape, one.stride(), one.requires_grad) == (
            other.dtype,
            other.shape,
            other.stride(),
            other.requires_grad,
        ) and torch.equal(one, other)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    return type(one) is type(other) and one == other
