"""How far off a right answer may be: absolute errors of output and lse, for any order and any block size."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.kept import kept
from grader.tolerance import EXP_ROUNDINGS, GUARD, SAFETY, gamma, product_bound, underflow, unit_roundoff

SCALING = 4
"""Roundings of a score beyond those of its dot product: a rounded constant, a root, one or two products."""
MENDING = EXP_ROUNDINGS + 2
"""Roundings that one more block costs a term: the factor exp(m_old - m_new), the product, the sum."""


@kept
def bounds(Q: Tensor, K: Tensor, V: Tensor, block_size: int) -> tuple[Tensor, Tensor]:
    """Absolute errors of (output, lse), (..., Tq, d_v) and (..., Tq) float64.

    Each block multiplies what is there by a factor that is rounded, and whose argument, a difference of two maxima
    or of two running logarithms, is rounded as well: that is the error of an argument of the softmax.
    """
    dtype, blocks = Q.dtype, math.ceil(K.size(-2) / block_size)
    Q, K, V = Q.detach().double(), K.detach().double(), V.detach().double()
    u, root = unit_roundoff(dtype), math.sqrt(Q.size(-1))
    scores = Q @ K.mT / root  # (..., Tq, Tk)
    lse = torch.logsumexp(scores, -1)  # (..., Tq)
    reach = scores.abs().amax(-1, keepdim=True) + math.log(K.size(-2)) + 1.0  # (..., Tq, 1)
    errors = product_bound(Q, K.mT, dtype, extra=SCALING) / root + 4 * (blocks + 2) * u * reach
    weights = torch.softmax(scores, dim=-1)
    moved = _moved(weights, errors, gamma(K.size(-2) + EXP_ROUNDINGS + 4 + MENDING * blocks, u) + GUARD, dtype)
    mixed = moved @ V.abs() + product_bound(weights + moved, V, dtype, extra=1)
    terms = gamma(K.size(-2) + MENDING * blocks + EXP_ROUNDINGS + 4, u)
    return SAFETY * mixed, SAFETY * (errors.amax(-1) + terms + 2 * u * (lse.abs() + reach.squeeze(-1)))


def _moved(weights: Tensor, errors: Tensor, relative: float, dtype: torch.dtype) -> Tensor:
    """(..., Tq, Tk): how far each weight may be off, given how far each score is, when every row has its own shift.

    `grader.tolerance.softmax_bound` also allows for one shift of all rows, with which rows of much smaller scores
    underflow. A running maximum is one of the row, so there is less to allow for here.
    """
    most, least = weights * errors.exp(), weights / errors.exp()
    spread = most - least
    high = most / (least.sum(-1, keepdim=True) + spread)
    low = least / (most.sum(-1, keepdim=True) - spread)
    moved = torch.maximum(high - weights, weights - low)
    return moved + relative * (weights + moved) + (weights.size(-1) + 1) * underflow(dtype)
