"""The handle that a check calls: a recording proxy over a session of the sandbox.

It turns an answer into the values that the assignment promises, or into a CheckFailure in authored words.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from torch import Tensor

from grader import expect
from grader.answers import explain, reason, unpack
from grader.call import Call, Invocation
from grader.entry import Entry
from grader.errors import GraderFault
from grader.sandbox.interface import Session


class Adapter(Protocol):
    """Translates a recognised convention of the student's into the assignment's."""

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The assignment's arguments as the student's function takes them."""

    def result(self, output: Any) -> Any:
        """What the student's function returned, in the form that the assignment promises."""


@dataclass
class _Pending:
    """A call that was asked for; made when the first of those asked for together is needed."""

    invocation: Invocation
    versions: list[int]
    """Of its tensors: torch counts the changes in place."""
    call: Call | None = None
    recorded: bool = False

    def unchanged(self) -> None:
        """Raises GraderFault when the check has changed one of the tensors since it asked: nobody could tell then
        what the student's function was given."""
        if self.versions != _versions(self.invocation):
            raise GraderFault(
                "A check changed a tensor in place after it was an argument of the student's function. Change a clone."
            )


class Student:
    """Call it like the student's function. Every invocation is appended to `calls`."""

    def __init__(
        self,
        session: Session,
        entry: Entry,
        *,
        device: str,
        check: str,
        calls: list[Call],
        adapter: Adapter | None = None,
        forbidden: Sequence[str] = (),
        watched: bool = False,
    ) -> None:
        """`forbidden` names what the assignment refuses of the library: its setting `from_scratch`.

        `watched`: the operators that run are counted.
        """
        self._session = session
        self._entry = entry
        self._check = check
        self._calls = calls
        self._adapter = adapter
        self._forbidden = forbidden
        self._device = device
        self._watched = watched
        self._pending: list[_Pending] = []
        self._taken: _Pending | None = None
        self._before = len(calls)

    @property
    def asked(self) -> bool:
        """Whether this handle has called the student's function at all."""
        return len(self._calls) > self._before

    @property
    def last(self) -> Call:
        """The latest call whose answer was taken. Raises GraderFault before the first one."""
        if self._taken is None:
            raise GraderFault("student.last was read before any answer was taken.")
        self._taken.unchanged()
        return self._calls[-1]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The returned values in the order of `entry.returns`: a tuple, or a lone value when there is one name.

        Raises CheckFailure when the function fails or answers in another form.
        """
        return self.later(*args, **kwargs)()

    def later(self, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        """Ask for a call now and take the answer later: `later(Q, K)()` is what `student(Q, K)` is.

        All that was asked for is done together when the first answer is taken, which costs far less than one by one.
        """
        return functools.partial(self._answer, self._ask(args, kwargs))

    def each(self, cases: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, tuple[Any, ...], Callable[[], Any]]]:
        """For each case its words, its arguments, and its answer to be taken; asked for together (see `later`)."""
        asked = [(words, args, self.later(*args)) for words, args in cases.items()]
        yield from asked

    def vjp(self, *args: Any, cotangents: tuple[Tensor, ...], **kwargs: Any) -> tuple[Any, tuple[Tensor | None, ...]]:
        """(values, gradients): forward and backward in the student's process.

        `cotangents` are the gradients with respect to the returned values, in order. One gradient for each
        floating tensor that was sent with requires_grad, None where the student's graph does not reach it.
        """
        args = tuple(_with_grad(item) for item in args)
        kwargs = {key: _with_grad(item) for key, item in kwargs.items()}
        values = self._answer(self._ask(args, kwargs, cotangents))
        return values, self.last.gradients or ()

    def _ask(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], cotangents: tuple[Tensor, ...] | None = None
    ) -> _Pending:
        if not self._entry.takes(len(args), kwargs):
            given = [*(f"argument {number}" for number in range(1, len(args) + 1)), *kwargs]
            raise GraderFault(
                f"A check calls {self._entry.function}({', '.join(self._entry.arguments)}) with {', '.join(given)}. "
                "No student's function can take that; mend the check."
            )
        invocation = Invocation(args, kwargs, self._device, cotangents, self._watched)
        self._pending.append(_Pending(invocation, _versions(invocation)))
        return self._pending[-1]

    def _answer(self, pending: _Pending) -> Any:
        """The values of this call, which is recorded when its answer is first taken."""
        if pending.call is None:
            together = self._pending if self._session.together else [pending]
            for other in together:
                other.unchanged()
            for other, call in zip(together, self._made([other.invocation for other in together]), strict=True):
                other.call = call
            self._pending = [other for other in self._pending if other.call is None]
        assert pending.call is not None
        if not pending.recorded:
            pending.call = replace(pending.call, check=self._check, case=expect.current.get().case)
            pending.recorded = True
            self._calls.append(pending.call)
            self._taken = pending
        return self._values(pending.call)

    def _made(self, asked: list[Invocation]) -> list[Call]:
        """The calls, in the assignment's convention whatever the student's is."""
        if self._adapter is None:
            return self._session.calls(asked)
        translated = []
        for one in asked:
            args, kwargs = self._adapter.arguments(one.args, one.kwargs)
            translated.append(replace(one, args=args, kwargs=kwargs))
        made = self._session.calls(translated)
        return [self._back(one, call) for one, call in zip(asked, made, strict=True)]

    def _back(self, asked: Invocation, call: Call) -> Call:
        assert self._adapter is not None
        output = self._adapter.result(call.output) if call.failure is None else call.output
        return replace(call, args=asked.args, kwargs=asked.kwargs, output=output)

    def _values(self, call: Call) -> Any:
        if call.failure is not None:
            raise expect.NoAnswer(
                explain(call.failure, self._forbidden),
                detail=call.failure.trace or call.failure.message,
                place=call.failure.place,
                reason=reason(call.failure),
            )
        return unpack(call.output, self._entry.returns)


def _versions(asked: Invocation) -> list[int]:
    return [0 if tensor.is_inference() else tensor._version for tensor in asked.inputs]


def _with_grad(item: Any) -> Any:
    if isinstance(item, Tensor) and item.is_floating_point():
        return item.detach().requires_grad_(True)
    return item
