"""Mistakes as students write them, in styles that have nothing in common with the bank's implementation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Answer = tuple[Tensor, Tensor]


def einsum_unscaled(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    energy = torch.einsum("...qd,...kd->...qk", Q, K)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-1e20"))
    attention = F.softmax(energy, dim=-1)
    return torch.einsum("...qk,...kv->...qv", attention, V), attention


def loops_wrong_scale_and_axis(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    lead, tq, tk = Q.shape[:-2], Q.shape[-2], K.shape[-2]
    q, k, v = Q.reshape(-1, tq, Q.shape[-1]), K.reshape(-1, tk, K.shape[-1]), V.reshape(-1, tk, V.shape[-1])
    allowed = None if mask is None else mask.expand(*lead, tq, tk).reshape(-1, tq, tk)
    outputs, weights = [], []
    for b in range(q.shape[0]):
        columns = []
        for j in range(tk):
            column = torch.stack([torch.dot(q[b, i], k[b, j]) for i in range(tq)]) / q.shape[-1]
            if allowed is not None:
                column = torch.where(allowed[b, :, j] != 0, column, torch.full_like(column, -math.inf))
            columns.append(torch.softmax(column, dim=0))
        w = torch.stack(columns, dim=1)
        weights.append(w)
        outputs.append(w @ v[b])
    return torch.stack(outputs).reshape(*lead, tq, -1), torch.stack(weights).reshape(*lead, tq, tk)


def numpy_like_no_shift(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    scores = (Q[..., :, None, :] * K[..., None, :, :]).sum(-1) * Q.shape[-1] ** -0.5
    e = torch.exp(scores)
    if mask is not None:
        e = e * (mask != 0)
    w = e / e.sum(-1, keepdim=True)
    return (w[..., None] * V[..., None, :, :]).sum(-2), w


def multiplied_mask_and_unscaled(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    sim = Q @ K.mT
    if mask is not None:
        sim = sim * mask
    w = sim.softmax(-1)
    return w @ V, w


def added_mask_key_count(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    logits = torch.einsum("...id,...jd->...ij", Q, K) / K.shape[-2] ** 0.5
    if mask is not None:
        logits = logits + mask
    p = torch.exp(logits - logits.logsumexp(-1, keepdim=True))
    return p @ V, p


def weights_zeroed_late_axis(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    scaled = (Q / math.sqrt(Q.shape[-1])) @ K.mT
    p = scaled.exp() / scaled.exp().sum(-2, keepdim=True)
    if mask is not None:
        p = p.masked_fill(mask == 0, 0.0)
    return p @ V, p


def inverted_loop_over_heads(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    if Q.dim() < 4:
        return _inverted(Q, K, V, mask)
    full = None if mask is None else mask.expand(*Q.shape[:2], Q.shape[2], K.shape[2])
    parts = [_inverted(Q[:, h], K[:, h], V[:, h], None if full is None else full[:, h]) for h in range(Q.shape[1])]
    return torch.stack([out for out, _ in parts], dim=1), torch.stack([w for _, w in parts], dim=1)


def _inverted(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None) -> Answer:
    scores = Q @ K.mT
    if mask is not None:
        scores = torch.where(mask > 0, torch.tensor(-1e9, dtype=Q.dtype, device=Q.device), scores)
    w = F.softmax(scores, dim=-1)
    return w @ V, w


def dropped_result_of_mask(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    product = torch.matmul(K, Q.transpose(-1, -2)).transpose(-1, -2)
    if mask is not None:
        product.masked_fill(mask == 0, -1e9)
    w = torch.nn.Softmax(dim=-1)(product * product.new_tensor(1.0 / Q.size(-1)))
    return w @ V, w


def own_triangle_and_sigmoid(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    scores = Q.matmul(K.transpose(-1, -2)).div(math.sqrt(Q.size(-1)))
    later = torch.arange(K.size(-2), device=Q.device)[None, :] > torch.arange(Q.size(-2), device=Q.device)[:, None]
    w = 1 / (1 + torch.exp(-scores.masked_fill(later, -math.inf)))
    return w.matmul(V), w


def crash_without_mask_unscaled(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    scores = torch.einsum("...qd,...kd->...qk", Q, K)
    keep = mask.bool()  # type: ignore[union-attr]  # the mistake
    scores = scores.masked_fill(~keep, -1e9)
    w = scores.softmax(-1)
    return w @ V, w


def scaled_in_place(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    Q /= Q.shape[-1] ** 0.5
    scores = torch.einsum("...qd,...kd->...qk", Q, K)
    if mask is not None:
        scores[(mask == 0).expand_as(scores)] = -math.inf
    w = scores.softmax(-1)
    return w @ V, w


def dropout_unscaled(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    scores = Q @ K.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    w = F.dropout(scores.softmax(-1), p=0.2)
    return w @ V, w


def graph_cut(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    with torch.no_grad():
        scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        w = scores.softmax(-1)
    return w @ V, w


COMPOSITES: tuple[tuple[tuple[str, ...], Callable[..., Any]], ...] = (
    (("not_scaled",), einsum_unscaled),
    (("scaled_by_dk", "softmax_over_queries"), loops_wrong_scale_and_axis),
    (("exp_overflows",), numpy_like_no_shift),
    (("not_scaled", "filled_with_zero"), multiplied_mask_and_unscaled),
    (("scaled_by_key_count", "mask_added"), added_mask_key_count),
    (("masked_after_softmax", "softmax_over_queries", "exp_overflows"), weights_zeroed_late_axis),
    (("mask_inverted", "not_scaled"), inverted_loop_over_heads),
    (("mask_ignored", "scaled_by_dk"), dropped_result_of_mask),
    (("own_causal_mask", "sigmoid"), own_triangle_and_sigmoid),
    (("mask_required", "not_scaled"), crash_without_mask_unscaled),
    (("query_scaled_in_place",), scaled_in_place),
    (("not_scaled", "dropout_left_on"), dropout_unscaled),
    (("scores_detached",), graph_cut),
)
"""(ids in the bank, function)."""
