"""How far off a right answer may be: absolute errors of output and weights in any order of operations.

Each step starts from values that are off already: a product of two such matrices is off by what its own roundings
cost plus what each factor's error, times the other factor, adds. Source: Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., section 3.5.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from grader.kept import kept
from grader.tolerance import SAFETY, product_bound, softmax_bound

SCALING = 4
"""Roundings of a score beyond those of its dot product: a rounded constant, a root, one or two products."""


class Known(NamedTuple):
    """A value in float64 and the bound of its absolute error in the student's dtype."""

    value: Tensor
    error: Tensor


def product(left: Known, right: Known, dtype: torch.dtype, *, extra: int = 0) -> Known:
    """The matrix product of two values that may both be off."""
    most_left, most_right = left.value.abs() + left.error, right.value.abs() + right.error
    carried = left.error @ most_right + most_left @ right.error
    return Known(left.value @ right.value, carried + product_bound(most_left, most_right, dtype, extra=extra))


def exactly(x: Tensor) -> Known:
    return Known(x.detach().double(), torch.zeros(x.shape, dtype=torch.float64))


def split(known: Known, heads: int) -> Known:
    """(B, T, H d) -> (B, H, T, d), value and error alike."""
    return Known(*(x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in known))


@kept
def bounds(
    x: Tensor,
    context: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Absolute errors of (output, weights), (B, Tq, E) and (B, H, Tq, Tk) float64. A masked weight has bound 0."""
    dtype = x.dtype
    q, k, v = (
        split(product(exactly(source), exactly(W.mT), dtype), num_heads)
        for source, W in ((x, W_q), (context, W_k), (context, W_v))
    )
    root = math.sqrt(q.value.size(-1))
    scores = product(q, Known(k.value.mT, k.error.mT), dtype, extra=SCALING)
    scores = Known(scores.value / root, scores.error / root)
    hidden = torch.zeros((), dtype=torch.bool) if mask is None else mask == 0
    weights = torch.softmax(scores.value.masked_fill(hidden, -math.inf), dim=-1)
    moved = softmax_bound(weights, scores.value, scores.error, dtype).masked_fill(hidden, 0.0)
    mixed = product(Known(weights, moved), v, dtype, extra=1)
    merged = Known(*(part.transpose(1, 2).flatten(2) for part in mixed))
    return SAFETY * product(merged, exactly(W_o.mT), dtype).error, SAFETY * moved
