"""How far off a correct answer may be: absolute errors of output, weights, row sums and gradients.

The exact values are those of the float64 reference; the student computes in the dtype of Q, in any correct order
of operations. docs/numerics.md derives each line. All results are float64 and contain the safety factor.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from grader.kept import kept
from grader.tolerance import GUARD, SAFETY, gamma, product_bound, softmax_bound, underflow, unit_roundoff

SCALING = 4
"""Roundings of a score beyond those of its dot product: a rounded constant, a root, one or two products."""


class Exact(NamedTuple):
    """The formula in float64, and what rounding does to it before any safety factor."""

    K: Tensor  # (..., Tk, d_k)
    V: Tensor  # (..., Tk, d_v)
    Q: Tensor  # (..., Tq, d_k)
    scores: Tensor  # (..., Tq, Tk), before masking
    weights: Tensor  # (..., Tq, Tk)
    moved: Tensor  # (..., Tq, Tk), bound of the error of the weights


def exact(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Exact:
    """Scores and weights in float64, and the bound of the weights' error in the dtype of Q."""
    dtype = Q.dtype
    Q, K, V = Q.detach().double(), K.detach().double(), V.detach().double()
    root = math.sqrt(Q.size(-1))
    columns = K.transpose(-2, -1)  # (..., d_k, Tk)
    scores = Q @ columns / root
    errors = product_bound(Q, columns, dtype, extra=SCALING) / root
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
        return Exact(K, V, Q, scores, weights, softmax_bound(weights, scores, errors, dtype))
    hidden = mask == 0
    weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1)
    moved = softmax_bound(weights, scores, errors, dtype)
    return Exact(K, V, Q, scores, weights, moved.masked_fill(hidden, 0.0))


@kept
def bounds(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Absolute errors of (output, weights) that any correct order of operations stays under.

    Args: Q (..., Tq, d_k), K (..., Tk, d_k), V (..., Tk, d_v) of one dtype; mask broadcasts to (..., Tq, Tk).
    Returns (..., Tq, d_v) and (..., Tq, Tk), float64. A masked weight has bound 0; a row without keys has NaN.
    """
    _, values, _, _, weights, moved = exact(Q, K, V, mask)
    rounded = gamma(weights.size(-1) + 1, unit_roundoff(Q.dtype))
    mixed = (moved + rounded * (weights + moved)) @ values.abs() + weights.size(-1) * underflow(Q.dtype)
    return SAFETY * mixed, SAFETY * moved


@kept
def row_sum_bound(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    """(..., Tq): how far from 1 the weights of a row may add up to, though their arguments may all be wrong.

    Only what happens after the scores counts, so a row sum is judged much more strictly than the weights.
    """
    scores = Q.detach().double() @ K.detach().double().transpose(-2, -1) / math.sqrt(Q.size(-1))
    weights = torch.softmax(scores if mask is None else scores.masked_fill(mask == 0, -math.inf), dim=-1)
    moved = softmax_bound(weights, scores, torch.zeros(()), Q.dtype)
    return SAFETY * moved.sum(-1)


@kept
def gradient_bounds(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, g_output: Tensor, g_weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Absolute errors of the gradients with respect to Q, K and V, shaped like them.

    Args: as for `bounds`; g_output (..., Tq, d_v) and g_weights (..., Tq, Tk) are the cotangents. Each query
    needs at least one key.
    """
    K64, V64, Q64, scores, weights, moved = exact(Q, K, V, mask)
    g_output, g_weights = g_output.double().abs(), g_weights.double().abs()
    u, root = unit_roundoff(Q.dtype), math.sqrt(Q.size(-1))
    most = weights + moved
    # of the weights: g_output V^T + g_weights, by magnitude
    slope = g_output @ V64.abs().transpose(-2, -1) + g_weights  # (..., Tq, Tk)
    mean = (most * slope).sum(-1, keepdim=True)  # (..., Tq, 1)
    steps = gamma(weights.size(-1) + V.size(-1) + 16, u) + GUARD
    drift = (moved * slope).sum(-1, keepdim=True) + steps * mean
    # of the scores: weights * (slope - mean). What should cancel, at masked keys as well, leaves steps * mean;
    # through a shift by the largest score of all, what is left of every row meets at that score.
    size = most * (slope + mean)
    error = moved * (slope + mean) + most * drift + steps * size + steps * mean
    kept = scores if mask is None else scores.masked_fill(mask == 0, -math.inf)
    error = error + steps * mean.sum() * (scores >= kept.max() - 4 * u * scores.abs().max())
    to_query = error @ K64.abs() + product_bound(size + error, K64, Q.dtype, extra=SCALING)
    rows = (size + error).transpose(-2, -1)
    to_key = error.transpose(-2, -1) @ Q64.abs() + product_bound(rows, Q64, Q.dtype, extra=SCALING)
    columns = most.transpose(-2, -1)
    to_value = moved.transpose(-2, -1) @ g_output + product_bound(columns, g_output, Q.dtype, extra=1)
    # where all terms of a sum are exactly 0, a rounding of the other sums is still none of this check's business
    floors = [u * float(bound.max()) for bound in (size @ K64.abs(), rows @ Q64.abs(), columns @ g_output)]
    return (
        SAFETY * (to_query + floors[0]) / root,
        SAFETY * (to_key + floors[1]) / root,
        SAFETY * (to_value + floors[2]),
    )
