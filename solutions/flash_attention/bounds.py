"""How far off a right answer may be: absolute errors of output and lse, for any order and any block size."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.tolerance import EXP_ROUNDINGS, SAFETY, gamma, product_bound, softmax_bound, unit_roundoff

SCALING = 4
"""Roundings of a score beyond those of its dot product: a rounded constant, a root, one or two products."""
MENDING = EXP_ROUNDINGS + 2
"""Roundings that one more block costs a term: the factor exp(m_old - m_new), the product, the sum."""


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
    moved = softmax_bound(weights, scores, errors, dtype, extra=MENDING * blocks)
    mixed = moved @ V.abs() + product_bound(weights + moved, V, dtype, extra=1)
    terms = gamma(K.size(-2) + MENDING * blocks + EXP_ROUNDINGS + 4, u)
    return SAFETY * mixed, SAFETY * (errors.amax(-1) + terms + 2 * u * (lse.abs() + reach.squeeze(-1)))
