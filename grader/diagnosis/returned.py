"""A returned tensor, compared number by number with what the bank computes under a set of wrong ideas."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.diagnosis.node import Node
from grader.diagnosis.part import NO, ODD, YES, Part
from grader.diagnosis.table import Table
from grader.diagnosis.whatif import WhatIf

TIGHT, LOOSE, COARSE = 64.0, 1e4, 1e5
"""Errors in units of the dtype's eps: certainly the same number; the same if it is huge; certainly another."""
HUGE = 1e3
"""A number that no result has, only fills and overflows."""
TABLES = 20
"""Tables that are kept for one question, each of some thousand answers."""
GROWTH = 256.0
"""An idea may enlarge rounding errors beyond the reference's bounds by at most this factor."""
SINGLE = 2.0**-24
"""Rounding to float32. A constant made as a tensor of PyTorch's usual dtype, such as torch.tensor(2.0).sqrt(), is off
by that in a call in float64, and the results with it."""
BLURRED = 1e-5
"""Relative and absolute: further apart than that, roundings to float32 do not bring two numbers."""


class Returned(Part):
    """One returned tensor. `rough`: a number in float64 may be off by a few roundings to float32."""

    def __init__(self, whatif: WhatIf, name: str, seen: Tensor, rough: bool = False) -> None:
        super().__init__(whatif)
        self.name, self.seen = name, seen
        self.upstream = whatif.catalogue.plans[name].upstream
        self.tabled = whatif.tables is not None
        self.array = _array(seen)
        eps = torch.finfo(seen.dtype).eps if seen.is_floating_point() else 0.0
        self.fine = 0.0 < eps < SINGLE
        self.rough = rough and self.fine
        self.eps = SINGLE if self.rough else eps
        self.far = BLURRED if self.rough else COARSE * eps
        self.blurred = False
        """Whether a set gave these numbers but for roundings to float32."""
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
            if found == NO and self.fine and not self.blurred:
                self.blurred = self._near(node.value)
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
        return table.near(self.array, self.far, HUGE)

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
            if gap > self.far * (abs(ours) + 1.0) and abs(ours) < HUGE and abs(seen) < HUGE:
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
        if (~(gap <= self.far * (size + 1.0)))[off & plain].any():
            return NO
        limits = self.whatif.limits(self.name)
        limits = limits if limits.shape == mine.shape else np.max(limits, initial=0.0)
        limit = 2 * limits + np.where(plain, TIGHT, LOOSE) * self.eps * size
        if self.rough:  # what cancels leaves roundings of larger numbers
            limit = limit + TIGHT / 4 * SINGLE * float(np.max(size[plain], initial=0.0))
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

    def _near(self, value: Any) -> bool:
        """Whether the numbers that are neither huge nor NaN may differ by roundings to float32."""
        if not isinstance(value, Tensor) or value.shape != self.seen.shape or value.dtype != self.seen.dtype:
            return False
        mine = _array(value)
        if self._index is not None:
            ours, seen = mine.item(self._index), self.array.item(self._index)
            if abs(ours - seen) > BLURRED * (abs(ours) + 1.0) and abs(ours) < HUGE:
                return False
        plain = np.abs(mine) < HUGE
        gap = np.abs(mine - self.array)[plain]
        return bool(gap.size) and bool((gap <= BLURRED * (np.abs(mine[plain]) + 1.0)).all())


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
