"""One value of the implementation, and when two values are the same."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


class Node:
    """The value of a step under a set, or the exception that it raised. Equal values share a node."""

    __slots__ = ("_blank", "error", "slot", "value")

    def __init__(self, value: Any, slot: int = 0, error: Exception | None = None) -> None:
        self.value = value
        self.slot = slot
        """Of the step that computed it or failed: of two failed steps, the earlier one ends the call."""
        self.error = error
        self._blank: bool | None = None

    def equals(self, value: Any) -> bool:
        """Whether this value is `value`, bit for bit (a NaN is like any other)."""
        if self.error is not None:
            return False
        if self._blank is None:
            self._blank = isinstance(self.value, Tensor) and has_nan(self.value)
        return same(value, self.value, blank=self._blank)


def has_nan(value: Tensor) -> bool:
    """Whether any number of the tensor is NaN."""
    return value.is_floating_point() and math.isnan(float(value.detach().sum())) and bool(value.isnan().any())


def same(left: Any, right: Any, blank: bool = True) -> bool:
    """The same tensor bit for bit (a NaN is like any other, if there can be any), or equal values of another kind.

    A step may also compute a tuple of such values.
    """
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return len(left) == len(right) and all(same(one, other, blank) for one, other in zip(left, right, strict=True))
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return type(left) is type(right) and not isinstance(left, Tensor) and bool(left == right)
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if torch.equal(left, right):
        return True
    if not blank or not left.is_floating_point() or not has_nan(left):
        return False
    return torch.equal(left.isnan(), right.isnan()) and torch.equal(left.nan_to_num(), right.nan_to_num())
