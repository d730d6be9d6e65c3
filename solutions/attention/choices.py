"""The choices that the knobs of `knobs.py` stand for, as tables of small functions.

Shapes: Q and q (..., Tq, d_k), K and k (..., Tk, d_k), V and v (..., Tk, d_v), scores and weights (..., Tq, Tk).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


def _heads_as_positions(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    if q.dim() < 3:
        return q @ k.mT
    return q.transpose(-3, -2) @ k.transpose(-3, -2).mT  # (..., Tq, H, H): needs Tq = Tk


PRODUCTS: Mapping[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "QK": lambda q, k, v: q @ k.transpose(-2, -1),
    "QQ": lambda q, k, v: q @ q.mT,
    "KK": lambda q, k, v: k @ k.mT,
    "KQ": lambda q, k, v: k @ q.mT,
    "QV": lambda q, k, v: q @ v.mT,
    "reshaped": lambda q, k, v: q @ k.reshape(*k.shape[:-2], k.size(-1), k.size(-2)),
    "untransposed": lambda q, k, v: q @ k,
    "all_reversed": lambda q, k, v: q @ k.permute(*reversed(range(k.dim()))),
    "transpose_1_2": lambda q, k, v: q @ k.transpose(1, 2),
    "permute_0_2_1": lambda q, k, v: q @ k.permute(0, 2, 1),
    "bmm": lambda q, k, v: torch.bmm(q, k.transpose(1, 2)),
    "heads": _heads_as_positions,
    "heads_summed": lambda q, k, v: q @ (k.sum(-3, keepdim=True) if k.dim() > 3 else k).mT,
    "elementwise": lambda q, k, v: q * k,
    "cosine": lambda q, k, v: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
    "distance": lambda q, k, v: -(q.unsqueeze(-2) - k.unsqueeze(-3)).pow(2).sum(-1),
    "absolute": lambda q, k, v: (q @ k.mT).abs(),
}


DIVISORS: Mapping[str, Callable[[Tensor, Tensor, Tensor], float]] = {
    "sqrt_dk": lambda Q, K, V: math.sqrt(Q.size(-1)),
    "none": lambda Q, K, V: 1.0,
    "dk": lambda Q, K, V: Q.size(-1),
    "times_sqrt": lambda Q, K, V: 1 / math.sqrt(Q.size(-1)),
    "times_dk": lambda Q, K, V: 1 / Q.size(-1),
    "sqrt_queries": lambda Q, K, V: math.sqrt(Q.size(-2)),
    "sqrt_keys": lambda Q, K, V: math.sqrt(K.size(-2)),
    "sqrt_size_1": lambda Q, K, V: math.sqrt(Q.size(1)),
    "sqrt_size_0": lambda Q, K, V: math.sqrt(Q.size(0)),
    "sqrt_model": lambda Q, K, V: math.sqrt(Q.size(-1) * (Q.size(-3) if Q.dim() > 3 else 1)),
    "sqrt_dv": lambda Q, K, V: math.sqrt(V.size(-1)),
    "fourth_root": lambda Q, K, V: Q.size(-1) ** 0.25,
    "square": lambda Q, K, V: Q.size(-1) ** 2,
    "negative": lambda Q, K, V: -math.sqrt(Q.size(-1)),
    "whole_root": lambda Q, K, V: math.isqrt(Q.size(-1)),
    "half": lambda Q, K, V: Q.size(-1) / 2,
}


OWN_MASKS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "causal": lambda ones: ones.tril(),
    "strict": lambda ones: ones.tril(-1),
    "ahead": lambda ones: ones.tril(1),
    "reversed": lambda ones: ones.triu(),
}


def read(mask: Tensor, reads: str) -> Tensor | None:
    """Where a query may look, by the given mask."""
    kept = mask != 0
    if reads == "ignored":
        return None
    if reads == "inverted":
        return ~kept
    if reads == "transposed":
        return kept.mT if kept.dim() > 1 else kept
    if reads == "first item":
        return kept[:1] if kept.dim() > 2 else kept
    if reads == "first row":
        return kept[..., :1, :] if kept.dim() > 1 else kept
    if reads == "first head":
        return kept[:, :1] if kept.dim() > 3 else kept
    if reads == "unsqueezed":
        return kept.unsqueeze(1)
    if reads == "leaky":  # the key after each last allowed one is let through as well
        return kept | F.pad(kept, (1, -1))
    return kept


def _undimensioned(x: Tensor) -> int:
    """The dimension that the library chooses when none is given."""
    return 0 if x.dim() in (0, 1, 3) else 1


DIMENSIONS: Mapping[str, Callable[[Tensor], int]] = {
    "keys": lambda x: -1,
    "queries": lambda x: -2,
    "dim_0": lambda x: 0,
    "dim_1": lambda x: 1,
    "dim_2": lambda x: 2,
    "undimensioned": _undimensioned,
}


def _without_keepdim(x: Tensor) -> Tensor:
    powers = (x - x.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1)


def _plus_one(x: Tensor) -> Tensor:
    powers = x.exp()
    return powers / (1 + powers.sum(-1, keepdim=True))


OTHER_SOFTMAXES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "matrix": lambda x: x.flatten(-2).softmax(-1).reshape(x.shape),
    "everything": lambda x: x.flatten().softmax(0).reshape(x.shape),
    "none": lambda x: x,
    "log": lambda x: x.log_softmax(-1),
    "sigmoid": lambda x: x.sigmoid(),
    "tanh": lambda x: x.tanh(),
    "relu": lambda x: x.relu(),
    "powers": lambda x: x.exp(),
    "shifted_powers": lambda x: (x - x.amax(-1, keepdim=True)).exp(),
    "linear": lambda x: x / x.sum(-1, keepdim=True),
    "twice": lambda x: x.softmax(-1).softmax(-1),
    "negated": lambda x: (-x).softmax(-1),
    "hardest": lambda x: F.one_hot(x.argmax(-1), x.size(-1)).to(x.dtype),
    "plus_one": _plus_one,
    "base_2": lambda x: (x * math.log(2)).softmax(-1),
    "no_keepdim": _without_keepdim,
    "length": lambda x: F.normalize(x, dim=-1),
}


def normalised(x: Tensor, softmax: str, shift: bool = True) -> Tensor:
    """Scores to weights; without a shift by the largest score exponentials may overflow."""
    if softmax not in DIMENSIONS:
        return OTHER_SOFTMAXES[softmax](x)
    dimension = DIMENSIONS[softmax](x)
    if shift:
        return x.softmax(dimension)
    powers = x.exp()
    return powers / powers.sum(dimension, keepdim=True)


def without(x: Tensor, skipped: str) -> Tensor:
    """Zero where a loop stops one short, or never goes beyond the first."""
    dimension, which = {
        "last query": (-2, -1), "first query": (-2, 0), "last head": (1, -1), "later heads": (1, 1),
        "last item": (0, -1), "later items": (0, 1),
    }[skipped]  # fmt: skip
    if x.dim() < 4 and dimension == 1:
        return x
    kept = torch.ones(x.size(dimension), dtype=x.dtype, device=x.device)
    if skipped.startswith("later"):
        kept[which:] = 0
    else:
        kept[which] = 0
    shape = [1] * x.dim()
    shape[dimension] = -1
    return x * kept.reshape(shape)


def _merged(x: Tensor, properly: bool) -> Tensor:
    """(B, H, T, d) -> (B, T, H d)."""
    if x.dim() < 4:
        return x
    turned = x.transpose(1, 2) if properly else x
    return turned.reshape(x.size(0), x.size(2), -1)


class Ingredients(NamedTuple):
    """What an output can be mixed from."""

    a: Tensor  # (..., Tq, Tk), the weights
    masked: Tensor
    scaled: Tensor
    scores: Tensor
    q: Tensor
    k: Tensor
    v: Tensor
    softmax: str


MIXES: Mapping[str, Callable[[Ingredients], Tensor]] = {
    "V": lambda x: x.a @ x.v,
    "K": lambda x: x.a @ x.k,
    "Q": lambda x: x.a @ x.q,
    "transposed": lambda x: x.a.mT @ x.v,
    "scores": lambda x: x.masked @ x.v,
    "unmasked": lambda x: normalised(x.scaled, x.softmax) @ x.v,
    "mean": lambda x: x.v.mean(-2, keepdim=True).expand(*x.a.shape[:-1], x.v.size(-1)),
    "V itself": lambda x: x.v,
    "summed": lambda x: x.a.sum(-2).unsqueeze(-1) * x.v,
    "scaled V": lambda x: x.a @ (x.v / math.sqrt(x.k.size(-1))),
    "merged": lambda x: _merged(x.a @ x.v, properly=True),
    "merged badly": lambda x: _merged(x.a @ x.v, properly=False),
    "turned": lambda x: (x.a @ x.v).mT,
    "best": lambda x: F.one_hot(x.a.argmax(-1), x.a.size(-1)).to(x.v.dtype) @ x.v,
    "bmm": lambda x: torch.bmm(x.a, x.v),
}


ANSWERS: Mapping[str, Callable[[Ingredients], Tensor]] = {
    "weights": lambda x: x.a,
    "scores": lambda x: x.masked,
    "raw": lambda x: x.scores,
    "unmasked": lambda x: normalised(x.scaled, x.softmax),
    "transposed": lambda x: x.a.mT,
    "head mean": lambda x: x.a.mean(1) if x.a.dim() > 3 else x.a,
}
