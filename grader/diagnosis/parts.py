"""What a recorded call shows, part by part, compared with what the bank computes under a set of wrong ideas."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.call import Failure
from grader.diagnosis import crashes
from grader.diagnosis.node import Node, same
from grader.diagnosis.table import Table
from grader.diagnosis.whatif import WhatIf
from grader.misconception import AFTER, ANSWER_DEVICE

NO, ODD, YES = 0, 1, 2
"""How a set fits: not at all; except where the set gives numbers that are not finite or huge, which a style may
change; in all numbers."""

TIGHT, LOOSE, COARSE = 64.0, 1e4, 1e5
"""Errors in units of the dtype's eps: certainly the same number; the same if it is huge; certainly another."""
HUGE = 1e3
"""A number that no result has, only fills and overflows."""
TABLES = 20
"""Tables that are kept for one question, each of some thousand answers."""
GROWTH = 256.0
"""An idea may enlarge rounding errors beyond the reference's bounds by at most this factor."""


def parts_of(whatif: WhatIf) -> tuple[Part, ...]:
    """What there is to compare, starting with what the fewest ideas can touch."""
    plans, call = whatif.catalogue.plans, whatif.call
    if call.failure is not None:
        return (Failed(whatif, call.failure),)
    names = sorted(whatif.seen, key=lambda name: plans[name].upstream.bit_count())
    parts: list[Part] = [Returned(whatif, name, whatif.seen[name]) for name in names]
    if ANSWER_DEVICE in plans and call.layouts:
        parts.append(Placed(whatif, "cpu" if all(layout.device == "cpu" for layout in call.layouts) else "gpu"))
    sent = [id(tensor) for tensor in call.inputs]
    if len(call.after) == len(sent):
        after = dict(zip(sent, call.after, strict=True))
        left = {name: after.get(id(value)) for name, value in whatif.arguments.items() if name + AFTER in plans}
        parts.append(LeftBehind(whatif, {name: value for name, value in left.items() if value is not None}))
    if call.gradients is not None:
        parts.append(Gradients(whatif, call.gradients))
    return tuple(parts)


class Part:
    """One thing that a call shows, compared with what the bank computes under a set."""

    dear = False
    """Whether a comparison costs many times what that of a returned value does."""

    tabled = False
    """Whether it is a question's, so that what many sets answer can be kept."""
    upstream = -1
    """The items that can reach it."""

    def __init__(self, whatif: WhatIf) -> None:
        self.whatif = whatif

    def fits(self, chosen: int) -> int:
        """NO, ODD or YES."""
        raise NotImplementedError

    def touched(self, chosen: int, more: int) -> bool:
        """Whether the items `more` make a difference here, on top of `chosen`, without stopping the call."""
        raise NotImplementedError

    def looked_up(self, key: tuple[int, ...], sets: Iterable[int]) -> Iterable[int]:
        """Those of the sets that may fit, where that is known at once for all of them. Only where `tabled`."""
        raise NotImplementedError

    def telling(self, chosen: int, single: bool) -> bool:
        """Whether a fit says something about the set, one of a single idea or not, and not just that much is wrong."""
        return True

    @property
    def kind(self) -> tuple[Any, ...]:
        """What parts share in which the same ideas show: this sort of part, of calls with the same sorts of inputs."""
        inputs = [(tensor.dtype.is_floating_point, tensor.dim()) for tensor in self.whatif.call.inputs]
        return type(self), self.whatif.call.device, *inputs


class Returned(Part):
    """One returned tensor."""

    def __init__(self, whatif: WhatIf, name: str, seen: Tensor) -> None:
        super().__init__(whatif)
        self.name, self.seen = name, seen
        self.upstream = whatif.catalogue.plans[name].upstream
        self.tabled = whatif.tables is not None
        self.array = _array(seen)
        self.eps = torch.finfo(seen.dtype).eps if seen.is_floating_point() else 0.0
        self._known: dict[Node, int] = {}
        self._index: int | None = None

    @property
    def kind(self) -> tuple[Any, ...]:
        return self.name, *super().kind

    def fits(self, chosen: int) -> int:
        node = self.whatif.node(self.name, chosen)
        found = self._known.get(node)
        if found is None:
            if self._index is None and self.whatif.sharing:
                self._index = _telling(self.array, self.whatif.node(self.name, 0).value)
            found = self._known[node] = NO if node.error is not None else self._compared(node.value, chosen)
        return found

    def touched(self, chosen: int, more: int) -> bool:
        self.whatif.share()
        after = self.whatif.node(self.name, chosen | more)
        return after.error is None and after is not self.whatif.node(self.name, chosen)

    def telling(self, chosen: int, single: bool) -> bool:
        return single or bool(np.isfinite(self.array).any())

    def looked_up(self, key: tuple[int, ...], sets: Iterable[int]) -> Iterable[int]:
        tables, whatif = self.whatif.tables, self.whatif
        assert tables is not None
        table = tables.get(name := (self.name, *key))
        if table is None:
            with whatif.passing():
                table = Table(whatif.catalogue, functools.partial(whatif.node, self.name), sets)
            if len(tables) >= TABLES:
                tables.clear()
            tables[name] = table
        return table.near(self.array, COARSE * self.eps, HUGE)

    def gap(self, chosen: int) -> float:
        """The largest difference of finite numbers between the student's value and the set's."""
        value = self.whatif.node(self.name, chosen).value
        if torch.equal(value, self.seen):
            return 0.0
        gap = np.abs(_array(value) - self.array)
        return float(np.max(gap[np.isfinite(gap)], initial=0.0))

    def _compared(self, value: Any, chosen: int) -> int:
        if not isinstance(value, Tensor) or value.shape != self.seen.shape or value.dtype != self.seen.dtype:
            return NO
        mine, theirs = _array(value), self.array
        if self._index is not None:
            ours, seen = mine.item(self._index), theirs.item(self._index)
            gap = abs(ours - seen)
            if gap > COARSE * self.eps * (abs(ours) + 1.0) and abs(ours) < HUGE and abs(seen) < HUGE:
                return NO
        if torch.equal(value, self.seen):
            return YES
        gap, size = np.abs(mine - theirs), np.where(np.isfinite(mine), np.abs(mine), 0.0)
        off = ~((gap <= TIGHT * self.eps * size) | (mine == theirs) | (np.isnan(mine) & np.isnan(theirs)))
        if not off.any():
            return YES
        plain = np.abs(mine) < HUGE  # false for NaN
        if not (plain & ~off).any():
            return NO
        if (~(gap <= COARSE * self.eps * (size + 1.0)))[off & plain].any():
            return NO
        limits = self.whatif.limits(self.name)
        limits = limits if limits.shape == mine.shape else np.max(limits, initial=0.0)
        limit = 2 * limits + np.where(plain, TIGHT, LOOSE) * self.eps * size
        off &= ~(gap <= limit)
        if not off.any():
            return YES
        if (off & plain).any():
            exact = self.whatif.exact(self.name, chosen)
            if exact is None:
                return NO
            own = np.nanmax(np.where(plain, np.abs(_array(exact) - mine), 0.0), initial=0.0)
            limit = limit + min(16 * float(own), GROWTH * float(np.max(limits, initial=0.0)))
            off &= ~(gap <= limit)
        if (off & plain).any():
            return NO
        return ODD if off.any() else YES


class Failed(Part):
    """A call that ended in an exception."""

    def __init__(self, whatif: WhatIf, failure: Failure) -> None:
        super().__init__(whatif)
        self.failure = failure
        self.family = crashes.family(failure)
        self._known: dict[int, int] = {}

    def fits(self, chosen: int) -> int:
        if chosen not in self._known:
            error = self.whatif.error(chosen)
            same = error is not None and crashes.family(_failure(error)) == self.family
            self._known[chosen] = YES if same else NO
        return self._known[chosen]

    def touched(self, chosen: int, more: int) -> bool:
        return self.fits(chosen | more) != self.fits(chosen)

    def telling(self, chosen: int, single: bool) -> bool:
        error = self.whatif.error(chosen)
        return self.family != "shapes" or (error is not None and str(error) == self.failure.message)


class Placed(Part):
    """The device on which the answer stands."""

    def __init__(self, whatif: WhatIf, device: str) -> None:
        super().__init__(whatif)
        self.device = device
        self.upstream = whatif.catalogue.plans[ANSWER_DEVICE].upstream

    def fits(self, chosen: int) -> int:
        return YES if self.whatif.node(ANSWER_DEVICE, chosen).value == self.device else NO

    def touched(self, chosen: int, more: int) -> bool:
        return self.fits(chosen | more) != self.fits(chosen)


class LeftBehind(Part):
    """The arguments as the call left them: bit for bit where they are unchanged, within rounding where not."""

    def __init__(self, whatif: WhatIf, after: dict[str, Tensor]) -> None:
        super().__init__(whatif)
        self.after = after
        self.changed = {name for name, value in after.items() if not same(whatif.arguments[name], value)}
        plans = whatif.catalogue.plans
        self.above = {name: plans[name + AFTER].upstream for name in after}
        self.upstream = functools.reduce(int.__or__, self.above.values(), 0)

    def fits(self, chosen: int) -> int:
        return YES if all(self._fits(name, chosen) for name in self.after) else NO

    def _fits(self, name: str, chosen: int) -> bool:
        if not chosen & self.above[name]:
            return name not in self.changed
        value, after = self.whatif.node(name + AFTER, chosen).value, self.after[name]
        if not isinstance(value, Tensor) or value.shape != after.shape or value.dtype != after.dtype:
            return False
        if same(value, after):
            return True
        return (
            name in self.changed
            and value.is_floating_point()
            and torch.allclose(value.detach(), after, 1e-3, 1e-6, equal_nan=True)
        )

    def touched(self, chosen: int, more: int) -> bool:
        return self.fits(chosen | more) != self.fits(chosen)


class Gradients(Part):
    """The gradients of a call that asked for them."""

    dear = True

    def __init__(self, whatif: WhatIf, seen: tuple[Tensor | None, ...]) -> None:
        super().__init__(whatif)
        self.seen = seen

    def fits(self, chosen: int) -> int:
        got = self.whatif.gradients(chosen)
        if isinstance(got, Exception) or len(got) != len(self.seen):
            return NO
        same = all(_close(mine, theirs) for mine, theirs in zip(got, self.seen, strict=True))
        return YES if same else NO

    def telling(self, chosen: int, single: bool) -> bool:
        return single or any(gradient is None or bool(gradient.isfinite().any()) for gradient in self.seen)

    def touched(self, chosen: int, more: int) -> bool:
        return self.fits(chosen | more) != self.fits(chosen)


def _close(mine: Tensor | None, theirs: Tensor | None) -> bool:
    """Equal up to a few thousand roundings of the largest; None only like None or zeros."""
    if mine is None or theirs is None:
        other = theirs if mine is None else mine
        return other is None or not bool(other.any())
    if mine.shape != theirs.shape:
        return False
    scale = float(mine.nan_to_num().abs().max()) if mine.numel() else 0.0
    room = 4096 * torch.finfo(theirs.dtype).eps
    return torch.allclose(mine.to(theirs.dtype), theirs, room, room * scale, equal_nan=True)


def _failure(error: Exception) -> Failure:
    return Failure("exception", type(error).__name__, str(error))


def _array(value: Tensor) -> np.ndarray[Any, Any]:
    try:
        return value.numpy()
    except (TypeError, RuntimeError):  # a dtype that NumPy lacks, or a gradient is recorded
        plain = value.detach()
        return (plain.float() if plain.dtype in (torch.bfloat16, torch.float16) else plain).numpy()


def _telling(seen: np.ndarray[Any, Any], plain: Any) -> int | None:
    """Where to look first: the finite place at which the student is furthest from the reference."""
    if not seen.size:
        return None
    finite = np.where(np.isfinite(seen), np.abs(seen), 0.0)
    if isinstance(plain, Tensor) and plain.shape == seen.shape:
        gap = np.abs(np.nan_to_num(seen) - np.nan_to_num(_array(plain)))
        finite = np.where(np.isfinite(seen) & (np.abs(seen) < HUGE), gap, 0.0) + 1e-6 * np.minimum(finite, 1.0)
    return int(finite.argmax())
