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
    """(B, heads, Tq, Tk) bool at random; each query keeps at least one key."""
    shape = (sizes.B, heads, sizes.Tq, sizes.Tk)
    kept = torch.rand(shape) < 0.6
    return kept.scatter(-1, torch.randint(sizes.Tk, (*shape[:-1], 1)), True)


def padding(sizes: Sizes) -> Tensor:
    """(B, 1, 1, Tk) bool: each sequence has another length, at least 1 and less than Tk."""
    lengths = torch.randperm(sizes.Tk - 1)[: sizes.B] + 1
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


def large(sizes: Sizes, peak: float) -> tuple[Tensor, ...]:
    """Q, K and V such that the largest score of every query is `peak` (after scaling, up to rounding)."""
    Q, K, V = qkv(sizes)
    scores = Q @ K.transpose(-2, -1) / sizes.d_k**0.5
    extreme = scores.gather(-1, scores.abs().argmax(-1, keepdim=True))  # (B, H, Tq, 1), never 0
    return Q * (peak / extreme), K, V
