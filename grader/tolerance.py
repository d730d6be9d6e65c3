"""How large an error may be: bounds that every correct order of operations stays under.

The expected value is computed in float64. The student computes in the dtype of the inputs, in an order that we
don't know: so each bound holds for the worst order, with every intermediate rounded to that dtype. The model is
fl(x op y) = (x op y)(1 + d), |d| <= u, with results of exp and of underflow treated apart; docs/numerics.md has
the derivations and the sources (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., chapters 2
and 3; Blanchard, Higham and Higham 2021 for the softmax; PyTorch's notes on numerical accuracy).

All bounds are absolute errors, float64 tensors, without the safety factor: multiply once, at the end.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

SAFETY = 2.0
"""Stated safety factor on a finished bound: covers what the model leaves out, such as vectorised exp."""

GUARD = 1e-8
"""Relative error allowed for a small number that guards a division, as in `x / (x.sum() + 1e-9)`.

It is below rounding in float32 and coarser dtypes. In float64 it is not; there it keeps a common and harmless
habit right, and is still well below what computing in float32 costs.
"""

LARGEST_EXPONENT = 700.0
"""exp of more than this is infinite in float64."""

EXP_ROUNDINGS = 4
"""An exp of a library is within 2 units in the last place; one unit is at most 2u."""


def unit_roundoff(dtype: torch.dtype) -> float:
    """u: half the distance from 1 to the next number. float64 2^-53, float32 2^-24, float16 2^-11, bfloat16 2^-8.

    Raises TypeError for a dtype that is not floating point.
    """
    return torch.finfo(dtype).eps / 2


def underflow(dtype: torch.dtype) -> float:
    """The smallest number above 0: what one result too small for full precision can lose (gradual underflow)."""
    limits = torch.finfo(dtype)
    return limits.tiny * limits.eps


def gamma(n: int, u: float) -> float:
    """n u / (1 - n u): bounds the relative error of a product of n factors (1 + d) (Higham, Lemma 3.1).

    Raises ValueError when n u >= 1: the dtype is too coarse to say anything about so many operations.
    """
    if n * u >= 1.0:
        raise ValueError(f"{n} roundings of {u:g} each: no bound holds. Use a shorter sum or a finer dtype.")
    return n * u / (1.0 - n * u)


def product_bound(left: Tensor, right: Tensor, dtype: torch.dtype, *, extra: int = 0) -> Tensor:
    """Error of the matrix product of exact matrices, summed in any order.

    Args:
        left: (..., m, n) magnitudes or values, float64.
        right: (..., n, p), float64.
        dtype: in which products and sums are rounded.
        extra: further roundings of each element, such as 2 for dividing by a rounded constant.
    Returns (..., m, p): gamma(n + extra) |left| |right|, plus what underflow can cost.
    """
    n = left.size(-1)
    relative = gamma(n + extra, unit_roundoff(dtype))
    return relative * (left.abs() @ right.abs()) + n * underflow(dtype)


def softmax_bound(weights: Tensor, scores: Tensor, errors: Tensor, dtype: torch.dtype, *, extra: int = 0) -> Tensor:
    """Error of a softmax over the last dimension, given how far off its arguments may be.

    Covers: shifting by the maximum of the row or of everything, no shift, exp(log_softmax), the quotient of exp
    and its sum, and dividing by the sum of the kept ones once more.

    Args:
        weights: (..., n) the exact softmax; 0 where masked.
        scores: (..., n) the exact arguments before masking (finite), float64.
        errors: (..., n) bound of the absolute error of each argument.
        extra: further roundings of each weight.
    Returns (..., n); NaN where a weight is NaN.
    """
    n, u = weights.size(-1), unit_roundoff(dtype)
    sizes = scores.abs()
    top = float(sizes.max())  # no shift is larger
    shift = (errors + u * (sizes + top)).exp()
    # the worst case for one weight: its own argument too large and all others too small, or the reverse
    most, least = weights * shift, weights / shift
    spread = most - least
    high = most / (least.sum(-1, keepdim=True) + spread)
    low = least / (most.sum(-1, keepdim=True) - spread)
    moved = torch.maximum(high - weights, weights - low)
    # a log-sum-exp taken off in place of a division: its own rounding moves all weights of a row together
    relative = gamma(n + EXP_ROUNDINGS + 4 + extra, u) + 2 * u * (top + math.log(n)) + GUARD
    # shifted by the largest of all, or not at all, a whole row may be tiny before it is divided by its sum
    lost = (n + 1) * underflow(dtype)
    if lost * math.exp(min(2 * top, LARGEST_EXPONENT)) < u * u:  # however tiny the row
        return moved + relative * (weights + moved) + u * u
    raised = (weights * (top - scores).clamp_max(LARGEST_EXPONENT).exp()).amax(-1, keepdim=True)
    return moved + relative * (weights + moved) + lost * raised
