"""Random inputs of the hidden checks: queries, keys, values and masks. The marker seeds torch first."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Sizes(NamedTuple):
    """All different wherever a check does not need two to be equal, so that no two dimensions can be mixed up."""

    B: int = 2
    H: int = 3
    Tq: int = 5
    Tk: int = 7
    d_k: int = 6
    d_v: int = 4

    @property
    def output(self) -> tuple[int, ...]:
        return self.B, self.H, self.Tq, self.d_v

    @property
    def weights(self) -> tuple[int, ...]:
        return self.B, self.H, self.Tq, self.Tk


def qkv(sizes: Sizes, dtype: torch.dtype = torch.float32, lead: tuple[int, ...] | None = None) -> tuple[Tensor, ...]:
    """Q (B, H, Tq, d_k), K (B, H, Tk, d_k) and V (B, H, Tk, d_v), or with other leading dimensions."""
    lead = (sizes.B, sizes.H) if lead is None else lead
    Q = torch.randn(*lead, sizes.Tq, sizes.d_k)
    K = torch.randn(*lead, sizes.Tk, sizes.d_k)
    V = torch.randn(*lead, sizes.Tk, sizes.d_v)
    return Q.to(dtype), K.to(dtype), V.to(dtype)


def causal(sizes: Sizes) -> Tensor:
    """(Tq, Tk) bool: query i may look at key j if j <= i."""
    return torch.ones(sizes.Tq, sizes.Tk, dtype=torch.bool).tril()


def scattered(sizes: Sizes, heads: int = 1) -> Tensor:
    """(B, heads, Tq, Tk) bool at random. Each query keeps a key and lacks a key, so that no verdict is left to chance.

    For the same reason the first query of the first sequence keeps only the last key, and the last query only the
    first: whatever mask is put in the place of this one differs from it there.
    """
    draws = torch.rand(sizes.B, heads, sizes.Tq, sizes.Tk)
    kept = (draws < 0.6) | (draws == draws.amin(-1, keepdim=True))
    kept &= draws < draws.amax(-1, keepdim=True)
    for query, key in ((0, -1), (-1, 0)):
        kept[0, :, query] = False
        kept[0, :, query, key] = True
    return kept


def padding(sizes: Sizes) -> Tensor:
    """(B, 1, 1, Tk) bool: each sequence has another length, at least 2 and less than Tk."""
    lengths = torch.randperm(sizes.Tk - 2)[: sizes.B] + 2
    return (torch.arange(sizes.Tk) < lengths[:, None])[:, None, None, :]


MASKS = {"causal": causal, "random": scattered, "padding": padding}
DTYPES = {"bool": torch.bool, "int": torch.int64, "float": torch.float32}

MASKED = ["no mask", *(f"{kind} mask, {dtype}" for kind in MASKS for dtype in DTYPES)]
"""Every form of mask, each kind in each dtype."""


def mask_of(form: str, sizes: Sizes) -> Tensor | None:
    """The mask that words such as "causal mask, int" describe; "no mask" is None."""
    if form == "no mask":
        return None
    kind, dtype = form.split(" mask, ")
    return MASKS[kind](sizes).to(DTYPES[dtype])


def large(sizes: Sizes, level: float) -> tuple[Tensor, ...]:
    """Q, K and V whose scores are all about `level` (after scaling) and differ twice as much as ordinary ones."""
    Q, K, V = qkv(sizes)
    Q *= 2
    Q[..., -1] = K[..., -1] = (level * sizes.d_k**0.5) ** 0.5  # adds the same to every score
    return Q, K, V
