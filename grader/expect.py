"""What must hold of an answer. Each function returns None or raises CheckFailure with authored words.

Comparisons are made here, in the marker, on bytes that came over the wire: nothing that the student's process
says about its own numbers counts. A NaN never passes anything but an expected NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from torch import Tensor

from grader.call import Call
from grader.pictures import Axes, around
from grader.results import Picture, Place


class CheckFailure(Exception):
    """The student's answer does not hold. `str(failure)` is what the student reads."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        detail: str = "",
        place: Place | None = None,
        reason: str = "",
        pictures: tuple[Picture, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail
        self.place = place
        self.reason = reason
        self.pictures = pictures
        self.case = ""


class NoAnswer(CheckFailure):
    """The call gave nothing that could be compared: a crash, a time-out, another form of answer."""


@dataclass
class Tally:
    """The case in hand and what failed so far, of one check that is being run for one submission."""

    case: str = ""
    cases: int = 0
    failures: list[CheckFailure] = field(default_factory=list)
    impatient: bool = False
    """End at the first failure; the other cases are not tried."""

    def keep(self, failure: CheckFailure) -> None:
        """Collect a failure, without its frames: they hold answers, which may be large."""
        self.failures.append(failure.with_traceback(None))

    def settle(self) -> None:
        """Raise the first collected failure, saying how many of the cases failed."""
        if not self.failures:
            return
        first = self.failures[0]
        if self.cases > 1:
            others = [failure.case for failure in self.failures[1:]]
            more = f" and {len(others) - 4} more" if len(others) > 4 else ""
            also = f" Also not right: {'; '.join(others[:4])}{more}." if others else ""
            first.message = f"{first.message} ({len(self.failures)} of {self.cases} cases are not right.{also})"
        raise first


current: ContextVar[Tally] = ContextVar("tally")


@contextmanager
def counted(*, impatient: bool = False) -> Iterator[None]:
    """What is tried inside has a tally of its own."""
    token = current.set(Tally(impatient=impatient))
    try:
        yield
    finally:
        current.reset(token)


gauge: ContextVar[Callable[[str, float], None] | None] = ContextVar("gauge", default=None)
"""Told of each comparison what was compared and the largest error in units of its bound. For the audit."""


@contextmanager
def case(words: str) -> Iterator[None]:
    """Label what is tried. A failure inside is kept and the check goes on with its next case."""
    tally = current.get()
    tally.case = words
    tally.cases += 1
    try:
        yield
    except CheckFailure as failure:
        failure.case = words
        if tally.impatient:
            raise
        tally.keep(failure)
    finally:
        tally.case = ""


def true(condition: bool, message: str, *, hint: str = "") -> None:
    """`condition` holds; else the student reads `message`."""
    if not condition:
        raise CheckFailure(message, hint=hint)


def shape(actual: Tensor, expected: tuple[int, ...] | torch.Size, *, name: str = "The result", hint: str = "") -> None:
    """`actual` has exactly the expected shape: no broadcasting, no missing dimension."""
    if tuple(actual.shape) != tuple(expected):
        raise CheckFailure(f"{name} has shape {tuple(actual.shape)}, but should have {tuple(expected)}.", hint=hint)


def dtype(actual: Tensor, expected: torch.dtype, *, name: str = "The result", hint: str = "") -> None:
    """`actual` has exactly the expected dtype."""
    if actual.dtype != expected:
        raise CheckFailure(f"{name} has dtype {short(actual.dtype)}, but should have {short(expected)}.", hint=hint)


def close(
    actual: Tensor,
    expected: Tensor | float,
    *,
    bound: Tensor | float,
    hint: str = "",
    name: str = "The result",
    axes: Axes = ("row", "column"),
    masked: Tensor | None = None,
) -> None:
    """|actual - expected| <= bound, element by element, in float64 (complex128 where `expected` is complex).

    Shapes must be equal (a float `expected` takes the shape of `actual`). `bound` is an absolute error, a number
    or a tensor that broadcasts; derive it with `grader.tolerance`. Where `expected` is NaN or infinite, `actual`
    must be the same. `axes` names the last two dimensions for the picture; `masked` (bool, broadcastable) marks
    cells that the mask forbids in it.
    """
    want = torch.as_tensor(expected).detach()
    real(actual, want, name=name, hint=hint)
    kind = torch.complex128 if want.is_complex() else torch.float64
    got, want = actual.detach().to(kind), want.to(kind)
    want = want.expand(got.shape) if want.dim() == 0 else want
    shape(got, tuple(want.shape), name=name, hint=hint)
    limit = torch.as_tensor(bound, dtype=torch.float64).expand(got.shape)
    difference = (got - want).abs()
    measure = gauge.get()
    if measure is None and bool((difference <= limit).all()):
        return  # the usual end; a comparison with NaN is false, so everything odd goes on below
    excess = difference / limit.clamp_min(torch.finfo(torch.float64).tiny)
    same = (got == want) | (got.isnan() & want.isnan())
    # a NaN or infinity on one side only is infinitely wrong: comparisons with NaN are false, so ask the other way
    excess = torch.where(same, 0.0, torch.where(excess.isfinite(), excess, torch.inf))
    largest = float(excess.max()) if excess.numel() else 0.0
    if measure is not None:
        measure(name, largest)
    if largest <= 1.0:
        return
    worst = position(excess)
    message = (
        f"{name} is {number(got[worst])} at {list(worst)}, but should be {number(want[worst])} "
        f"(allowed difference {number(limit[worst])}); {count(excess > 1.0)} are not right."
    )
    drawn = not want.is_complex()
    picture = around(worst, got, want, excess > 1.0, title=name, axes=axes, masked=masked) if drawn else ()
    raise CheckFailure(message, hint=hint, pictures=picture)


def real(actual: Tensor, like: Tensor | None = None, *, name: str = "The result", hint: str = "") -> None:
    """`actual` is not complex, unless the tensor `like` is."""
    if actual.is_complex() and not (like is not None and like.is_complex()):
        raise CheckFailure(f"{name} has complex numbers in it, but should have real ones.", hint=hint)


def zero(
    actual: Tensor,
    where: Tensor,
    *,
    hint: str = "",
    name: str = "The result",
    axes: Axes = ("row", "column"),
) -> None:
    """`actual` is exactly 0 wherever the bool tensor `where` (broadcastable) says so."""
    real(actual, name=name, hint=hint)
    got = actual.detach().to(torch.float64)
    chosen = where.expand(got.shape)
    wrong = chosen & (got != 0.0)  # NaN != 0 is true, so a NaN is wrong here as well
    if not bool(wrong.any()):
        return
    size = torch.where(wrong, got.abs().nan_to_num(torch.inf, posinf=torch.inf), -1.0)
    worst = position(size)
    message = f"{name} is {number(got[worst])} at {list(worst)}, but should be exactly 0; {count(wrong)} are not 0."
    want = torch.where(chosen, 0.0, torch.nan)
    picture = around(worst, got, want, wrong, title=name, axes=axes, masked=where, compare=False)
    raise CheckFailure(message, hint=hint, pictures=picture)


def equal(
    actual: Tensor,
    expected: Tensor,
    *,
    hint: str = "",
    name: str = "The result",
    axes: Axes = ("row", "column"),
) -> None:
    """Bit for bit the same shape, dtype and values (NaN equals NaN)."""
    dtype(actual, expected.dtype, name=name, hint=hint)
    close(actual, expected, bound=0.0, hint=hint, name=name, axes=axes)


def unchanged(call: Call, *, hint: str = "") -> None:
    """The call left every tensor that it was given as it was."""
    for index, (before, after) in enumerate(zip(call.inputs, call.after, strict=True)):
        if before.shape != after.shape or not torch.equal(before.nan_to_num(), after.to(before.dtype).nan_to_num()):
            raise CheckFailure(f"Your function changed its argument number {index + 1} in place.", hint=hint)


def stays_on_device(call: Call, *, hint: str = "") -> None:
    """Every tensor of the answer is on the device of the inputs."""
    for index, layout in enumerate(call.layouts):
        if layout.device != call.device:
            raise CheckFailure(
                f"The inputs were on the {call.device.upper()}, but returned value number {index + 1} is on the "
                f"{layout.device.upper()}.",
                hint=hint,
            )


def position(scores: Tensor) -> tuple[int, ...]:
    """Index of the largest element (the first of equals)."""
    flat = int(scores.reshape(-1).argmax())
    index: list[int] = []
    for size in reversed(scores.shape):
        index.append(flat % size)
        flat //= size
    return tuple(reversed(index))


def number(value: Tensor | float) -> str:
    return f"{value.item() if isinstance(value, Tensor) else value:.4g}"


def count(wrong: Tensor) -> str:
    return f"{int(wrong.sum())} of {wrong.numel()} values"


def short(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")
