"""Right answers by other routes: each must get full marks, on any input, in any dtype.

Every public function here is one. The audit runs them through the checks; bench/false_alarms.py holds them
against the bounds. Add one when a right submission is ever marked wrong.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

Answer = tuple[Tensor, Tensor]


def plain_formula(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """matmul, division by the root, -inf, softmax."""
    scores = torch.matmul(Q, K.transpose(-1, -2)) / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    weights = torch.nn.functional.softmax(scores, dim=-1)
    return torch.matmul(weights, V), weights


def transpose_2_3(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Written for four dimensions; others are brought to four first."""
    lead = Q.shape[:-2]
    q, k, v = (x.reshape(-1, 1, *x.shape[-2:]) for x in (Q, K, V))
    scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(k.size(3))
    scores = scores.reshape(*lead, Q.size(-2), K.size(-2))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(-1)
    return torch.matmul(weights.reshape(-1, 1, *weights.shape[-2:]), v).reshape(*lead, Q.size(-2), V.size(-1)), weights


def einsum(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Both products by einsum, multiplied by the inverse root."""
    scores = torch.einsum("...qd,...kd->...qk", Q, K) * Q.size(-1) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, -1)
    return torch.einsum("...qk,...kd->...qd", weights, V), weights


def where(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """torch.where in place of masked_fill, and the root as a tensor."""
    scores = Q @ K.mT / torch.sqrt(torch.tensor(Q.size(-1), dtype=Q.dtype, device=Q.device))
    if mask is not None:
        scores = torch.where(mask != 0, scores, torch.full_like(scores, -math.inf))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def additive_infinity(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Adds a bias of 0 and -inf."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=Q.dtype, device=Q.device).masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def indexed_assignment(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Writes -inf into a copy of the scores by boolean index."""
    scores = (Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))).clone()
    if mask is not None:
        scores[(mask == 0).expand_as(scores)] = -math.inf
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def fill_minus_1e9(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """A large negative number in place of -inf; float16 can't hold it, so its smallest is taken there."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, max(-1e9, torch.finfo(Q.dtype).min))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def fill_minus_1e4(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """A number that float16 can hold."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e4)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def additive_1e9(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """(1 - mask) * -1e9 added to the scores."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores + (1.0 - mask.to(Q.dtype)) * max(-1e9, torch.finfo(Q.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def own_softmax(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """exp over sum, shifted by the maximum of the row."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ V, weights


def shift_by_largest_of_all(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """exp over sum, shifted by the one largest score of the whole tensor; masked afterwards."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    powers = torch.exp(scores - scores.max())
    if mask is not None:
        powers = powers * (mask != 0)
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ V, weights


def epsilon(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Guards the division with a number far below rounding."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    weights = powers / (powers.sum(dim=-1, keepdim=True) + 1e-9)
    return weights @ V, weights


def renormalised(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Softmax over all keys, then the mask, then each row divided by its sum."""
    weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1)), dim=-1)
    if mask is not None:
        weights = weights * (mask != 0)
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ V, weights


def nan_to_num(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """A query without keys gets weights 0."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    return weights @ V, weights


def log_softmax(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """exp of log_softmax."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.log_softmax(scores, dim=-1).exp()
    return weights @ V, weights


def log_sum_exp(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """exp of the scores less their log-sum-exp."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
    return weights @ V, weights


def scaled_query(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Divides Q, not the scores."""
    scores = (Q / math.sqrt(Q.size(-1))) @ K.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def scaled_both(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Divides Q and K by the fourth root each, as against overflow in half precision."""
    fourth = Q.size(-1) ** 0.25
    scores = (Q / fourth) @ (K / fourth).transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def keys_first(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """All of it transposed, with the softmax over the rows."""
    scores = K @ Q.transpose(-2, -1) / math.sqrt(Q.size(-1))  # (..., Tk, Tq)
    if mask is not None:
        scores = scores.masked_fill((mask == 0).transpose(-2, -1), -math.inf)
    weights = torch.softmax(scores, dim=-2).transpose(-2, -1)
    return (V.transpose(-2, -1) @ weights.transpose(-2, -1)).transpose(-2, -1), weights


def in_float32(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Computes coarse dtypes in float32 and returns the dtype of the inputs."""
    wide = torch.promote_types(Q.dtype, torch.float32)
    scores = Q.to(wide) @ K.to(wide).transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return (weights @ V.to(wide)).to(V.dtype), weights.to(Q.dtype)


def softmax_in_float64(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Only the softmax is computed in float64."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1, dtype=torch.float64).to(Q.dtype)
    return weights @ V, weights


def broadcast_and_sum(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Products of elements, rounded, and then a sum: no matrix product."""
    scores = (Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return (weights.unsqueeze(-1) * V.unsqueeze(-3)).sum(-2), weights


def one_by_one(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Every sum added term by term in the dtype of the inputs: the most roundings there can be."""
    scores = Q[..., :, None, 0] * K[..., None, :, 0]
    for d in range(1, Q.size(-1)):
        scores = scores + Q[..., :, None, d] * K[..., None, :, d]
    scores = scores * (1 / math.sqrt(Q.size(-1)))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    total = powers[..., :1]
    for j in range(1, K.size(-2)):
        total = total + powers[..., j : j + 1]
    weights = powers / total
    output = weights[..., :, :1] * V[..., :1, :]
    for j in range(1, K.size(-2)):
        output = output + weights[..., :, j : j + 1] * V[..., j : j + 1, :]
    return output, weights


def streamed(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Key by key with a running maximum, the way that fused kernels do."""
    shape = (*Q.shape[:-1], K.size(-2))
    keep = torch.ones(shape, dtype=torch.bool, device=Q.device) if mask is None else (mask != 0).expand(shape)
    scores = (Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))).masked_fill(~keep, -math.inf)
    top = torch.full((*shape[:-1], 1), -math.inf, dtype=Q.dtype, device=Q.device)
    total = torch.zeros_like(top)
    output = torch.zeros((*shape[:-1], V.size(-1)), dtype=Q.dtype, device=Q.device)
    for j in range(K.size(-2)):
        column = scores[..., j : j + 1]
        higher = torch.maximum(top, column)
        fade = torch.where(top == higher, torch.ones_like(top), torch.exp(top - higher))
        power = torch.where(column.isinf(), torch.zeros_like(column), torch.exp(column - higher))
        total = total * fade + power
        output = output * fade + power * V[..., j : j + 1, :]
        top = higher
    return output / total, torch.exp(scores - top) / total


def one_head_at_a_time(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Loops over everything that comes before the last two dimensions (the vectorised check alone objects)."""
    lead = Q.shape[:-2]
    q, k, v = (x.reshape(-1, *x.shape[-2:]) for x in (Q, K, V))
    keep = None if mask is None else mask.expand(*lead, Q.size(-2), K.size(-2)).reshape(-1, Q.size(-2), K.size(-2))
    outputs, rows = [], []
    for index in range(q.size(0)):
        scores = q[index] @ k[index].T / math.sqrt(Q.size(-1))
        if keep is not None:
            scores = scores.masked_fill(keep[index] == 0, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        outputs.append(weights @ v[index])
        rows.append(weights)
    return torch.stack(outputs).reshape(*lead, Q.size(-2), -1), torch.stack(rows).reshape(*lead, Q.size(-2), -1)


def one_query_at_a_time(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Loops over the queries and fills the results row by row."""
    shape = (*Q.shape[:-1], K.size(-2))
    keep = None if mask is None else mask.expand(shape)
    weights = torch.zeros(shape, dtype=Q.dtype, device=Q.device)
    output = torch.zeros((*Q.shape[:-1], V.size(-1)), dtype=Q.dtype, device=Q.device)
    for i in range(Q.size(-2)):
        row = (K @ Q[..., i, :, None]).squeeze(-1) / math.sqrt(Q.size(-1))  # (..., Tk)
        if keep is not None:
            row = row.masked_fill(keep[..., i, :] == 0, -math.inf)
        row = torch.softmax(row, dim=-1)
        weights[..., i, :] = row
        output[..., i, :] = (row[..., None, :] @ V).squeeze(-2)
    return output, weights


_LOOPS = ("no_loops",)
LOSES = {
    "one_by_one": _LOOPS,
    "streamed": _LOOPS,
    "one_head_at_a_time": _LOOPS,
    "one_query_at_a_time": _LOOPS,
}
"""Checks that a right answer fails by intention: a loop costs the points for working without one, and no others."""
