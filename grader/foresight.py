"""What the checks will ask first, asked for all at once: waking the student's process is the dearest part of a call.

Each check is run once up to the first answer that it needs, which tells what it asks: its inputs depend on its seed and
on nothing else. All of that crosses the wire together. Then the checks run in earnest, and find answers to the very
same calls waiting; whatever else they ask is asked as ever.

A function may remember its calls, so their order is always the same: what the checks ask first, then the rest.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
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
    """Ends a check once it has told what it asks. Not an Exception, so that no check takes it for a failure."""


def foresee(
    checks: Checks,
    chosen: Sequence[Check],
    session: Session,
    handle: Callable[[Check, Session], Student],
    *,
    apart: bool = False,
) -> Session:
    """`session`, which asks for what the `chosen` checks ask first in one request, when the first of it is needed.

    `handle` gives the student's handle of a check over a session, and seeds the check's inputs. `apart`: one request
    for each check, and none before it is needed. That costs more, but what hangs holds up no check before its own.
    """
    if not session.together:
        return session

    def first(check: Check) -> Sequence[Invocation]:
        """What a check asks first."""
        notes = _Notes(session)
        # what it prints is printed when it runs in earnest
        with contextlib.suppress(Enough), contextlib.redirect_stdout(io.StringIO()):
            checks.run(check, handle(check, notes))
        return notes.asked

    def one_by_one() -> Iterator[Sequence[Invocation]]:
        for check in plain:
            state = torch.default_generator.get_state()  # another check may be in the middle of drawing its inputs
            asked = first(check)
            torch.default_generator.set_state(state)
            yield asked

    plain = [check for check in chosen if check.plain]
    return _Foreseen(session, one_by_one() if apart else iter([[one for check in plain for one in first(check)]]))


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


class _Foreseen(Session):
    """A session that knows what it will be asked."""

    together = True

    def __init__(self, session: Session, foreseen: Iterator[Sequence[Invocation]]) -> None:
        """`foreseen`: requests to make, in this order and before any other."""
        self.loaded, self.layers = session.loaded, session.layers
        self._session = session
        self._foreseen = foreseen
        self._made: list[tuple[Invocation, Call]] = []

    @property
    def output(self) -> str:
        return self._session.output

    def calls(self, asked: Sequence[Invocation]) -> list[Call]:
        known = [self._known(one) for one in asked]
        rest = iter(self._session.calls([one for one, call in zip(asked, known, strict=True) if call is None]))
        return [call or next(rest) for call in known]

    def _known(self, asked: Invocation) -> Call | None:
        """The answer to exactly this call, once. None when it was not foreseen: all that was is made by then."""
        for number, (invocation, call) in enumerate(self._all()):
            if _same(asked, invocation):
                del self._made[number]
                return call
        return None

    def _all(self) -> Iterator[tuple[Invocation, Call]]:
        """What is made already, then what is made now."""
        yield from list(self._made)
        for asked in self._foreseen:
            with contextlib.suppress(Malformed):  # the check that asks for what can't be sent will say so
                made = list(zip(asked, self._session.calls(asked), strict=True))
                self._made += made
                yield from made

    def close(self) -> None:
        self._session.close()


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
