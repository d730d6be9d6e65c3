"""Right answers by other routes: each must get full marks. The audit runs every public function here."""

from __future__ import annotations

import math

import torch
from torch import Tensor

Answer = tuple[Tensor, Tensor]


def running_logarithm(Q: Tensor, K: Tensor, V: Tensor, block_size: int) -> Answer:
    """Keeps a normalised output and the running log-sum-exp in place of maximum, sum and output."""
    output, lse = None, None
    for keys, values in zip(K.split(block_size, -2), V.split(block_size, -2), strict=True):
        scores = Q @ keys.mT * Q.size(-1) ** -0.5
        block, logarithm = torch.softmax(scores, -1) @ values, torch.logsumexp(scores, -1, keepdim=True)
        if output is None or lse is None:
            output, lse = block, logarithm
            continue
        joined = torch.logaddexp(lse, logarithm)
        output = output * (lse - joined).exp() + block * (logarithm - joined).exp()
        lse = joined
    assert output is not None
    assert lse is not None
    return output, lse.squeeze(-1)


def two_passes(Q: Tensor, K: Tensor, V: Tensor, block_size: int) -> Answer:
    """First the maximum of each row, block by block, then the sums: nothing has to be mended."""
    blocks = range(0, K.size(-2), block_size)

    def scores(start: int) -> Tensor:
        return torch.einsum("...qd,...kd->...qk", Q, K[..., start : start + block_size, :]) / math.sqrt(Q.size(-1))

    m = scores(0).amax(-1, keepdim=True)
    for start in blocks[1:]:
        m = torch.maximum(m, scores(start).amax(-1, keepdim=True))
    total, mixed = torch.zeros_like(m), 0
    for start in blocks:
        p = (scores(start) - m).exp()
        total = total + p.sum(-1, keepdim=True)
        mixed = mixed + p @ V[..., start : start + block_size, :]
    return mixed / total, (m + total.log()).squeeze(-1)


def scaled_queries_last_block_first(Q: Tensor, K: Tensor, V: Tensor, block_size: int) -> Answer:
    """Scales Q once, goes through the blocks backwards, and starts from the first of them."""
    Q = Q / math.sqrt(Q.size(-1))
    starts = list(range(0, K.size(-2), block_size))[::-1]
    scores = Q @ K[..., starts[0] :, :].mT
    m = scores.max(-1, keepdim=True).values
    p = torch.exp(scores - m)
    total, mixed = p.sum(-1, keepdim=True), p @ V[..., starts[0] :, :]
    for start in starts[1:]:
        scores = Q @ K[..., start : start + block_size, :].mT
        new = torch.where(scores.amax(-1, keepdim=True) > m, scores.amax(-1, keepdim=True), m)
        p, mend = torch.exp(scores - new), torch.exp(m - new)
        total, mixed, m = (
            mend * total + p.sum(-1, keepdim=True),
            mend * mixed + p @ V[..., start : start + block_size, :],
            new,
        )
    return mixed / total, (total.log() + m).squeeze(-1)
