"""Right answers by other routes: each must get full marks. The audit runs every public function here."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

Answer = tuple[Tensor, Tensor]

LOSES = {"head_by_head": ("no_loops",)}
"""Right, but not what one check asks for."""


def einsum_on_reshaped_matrices(
    x: Tensor,
    context: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    mask: Tensor | None = None,
) -> Answer:
    """Splits the matrices into heads instead of their products, and fills with -1e9."""
    q = torch.einsum("btd,hkd->bhtk", x, W_q.unflatten(0, (num_heads, -1)))
    k = torch.einsum("bsc,hkc->bhsk", context, W_k.unflatten(0, (num_heads, -1)))
    v = torch.einsum("bsc,hvc->bhsv", context, W_v.unflatten(0, (num_heads, -1)))
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) * q.size(-1) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    mixed = torch.einsum("bhts,bhsv->bthv", weights, v)
    return torch.einsum("bthv,ehv->bte", mixed, W_o.unflatten(1, (num_heads, -1))), weights


def batches_of_heads(
    x: Tensor,
    context: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    mask: Tensor | None = None,
) -> Answer:
    """B and H as one dimension and bmm, as the library's own module does it; an additive mask."""
    B, Tq, Tk = x.size(0), x.size(1), context.size(1)

    def heads(y: Tensor) -> Tensor:  # (B, T, H d) -> (B H, T, d)
        return y.transpose(0, 1).reshape(y.size(1), B * num_heads, -1).transpose(0, 1)

    q, k, v = heads(F.linear(x, W_q)), heads(F.linear(context, W_k)), heads(F.linear(context, W_v))
    scores = torch.bmm(q * q.size(-1) ** -0.5, k.transpose(1, 2)).view(B, num_heads, Tq, Tk)
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(mask == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    mixed = torch.bmm(weights.view(B * num_heads, Tq, Tk), v)
    return F.linear(mixed.transpose(0, 1).reshape(Tq, B, -1).transpose(0, 1), W_o), weights


def head_by_head(
    x: Tensor,
    context: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    mask: Tensor | None = None,
) -> Answer:
    """A loop over the heads that adds up what each contributes to the output."""
    output, weights = torch.zeros((), dtype=x.dtype, device=x.device), []
    parts = zip(W_q.chunk(num_heads), W_k.chunk(num_heads), W_v.chunk(num_heads), W_o.chunk(num_heads, 1), strict=True)
    for head, (w_q, w_k, w_v, w_o) in enumerate(parts):
        q, k, v = x @ w_q.T, context @ w_k.T, context @ w_v.T
        scores = q @ k.mT / q.size(-1) ** 0.5  # (B, Tq, Tk)
        if mask is not None:
            full = mask.expand(x.size(0), num_heads, x.size(1), context.size(1))
            scores = torch.where(full[:, head] != 0, scores, -torch.inf)
        weights.append(scores.softmax(-1))
        output = output + weights[-1] @ v @ w_o.T
    return output, torch.stack(weights, 1)
