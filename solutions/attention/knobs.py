"""Attention with knobs: the reference when every knob stands at its default, a known wrong idea otherwise.

Each function is a step that computes the value of its name; positional parameters name the values it needs, and
keyword-only parameters are the knobs. Where an idea stops with an exception, so does its step, with the operator
that the student would have used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.misconception import passes

Number = float | int | str


# --- what comes in ---


def _given(x: Tensor, precision: str, cut: str, own: str, device: str) -> Tensor:
    if cut == "numpy":
        if device == "gpu":
            raise TypeError("can't convert a tensor of the device to numpy. Use Tensor.cpu() first.")
        x.numpy()  # raises when x requires a gradient, as it does for the student
    x = x if precision == "given" else x.to(getattr(torch, precision))
    return x.detach() if cut == own else x


@passes("Q")
def queries(Q: Tensor, device: str, *, precision: str = "given", cut: str = "nothing") -> Tensor:
    return _given(Q, precision, cut, "queries", device)  # (..., Tq, d_k)


@passes("K")
def keys(K: Tensor, device: str, *, precision: str = "given", cut: str = "nothing") -> Tensor:
    return _given(K, precision, cut, "keys", device)  # (..., Tk, d_k)


@passes("V")
def values(V: Tensor, device: str, *, precision: str = "given", cut: str = "nothing") -> Tensor:
    return _given(V, precision, cut, "values", device)  # (..., Tk, d_v)


# --- scores ---


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


def scores(queries: Tensor, keys: Tensor, values: Tensor, *, product: str = "QK", cut: str = "nothing") -> Tensor:
    raw = PRODUCTS[product](queries, keys, values)  # (..., Tq, Tk)
    return raw.detach() if cut in ("scores", "everything") else raw


# --- scale ---

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


def scaled(
    scores: Tensor,
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None,
    *,
    scale: Number = "sqrt_dk",
    scaled_when: str = "always",
) -> Tensor:
    if (scaled_when == "with mask" and mask is None) or (scaled_when == "without mask" and mask is not None):
        return scores
    if scale == "std":
        return scores / scores.std()
    if scale == "floored":
        return scores // math.sqrt(Q.size(-1))
    divisor = DIVISORS[scale](Q, K, V) if isinstance(scale, str) else scale
    return scores / divisor  # (..., Tq, Tk)


# --- mask ---

OWN_MASKS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "causal": lambda ones: ones.tril(),
    "strict": lambda ones: ones.tril(-1),
    "ahead": lambda ones: ones.tril(1),
    "reversed": lambda ones: ones.triu(),
}


def _read(mask: Tensor, reads: str) -> Tensor | None:
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


def allowed(
    mask: Tensor | None,
    scores: Tensor,
    device: str,
    *,
    reads: str = "given",
    own: str = "none",
    own_when: str = "always",
    made_on: str = "inputs",
) -> Tensor | None:
    """True where a query may look; None when there is no mask. Broadcasts to (..., Tq, Tk)."""
    if device == "gpu" and (made_on == "cpu" or (made_on == "cpu with mask" and mask is not None)):
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices")
    kept = None if mask is None else _read(mask, reads)
    if own == "none" or (own_when == "with mask" and mask is None):
        return kept
    triangle = OWN_MASKS[own](torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device))
    return triangle & kept if own_when == "both" and kept is not None else triangle


def masked(
    scaled: Tensor,
    allowed: Tensor | None,
    mask: Tensor | None,
    *,
    masking: str = "fill",
    fill: Number = "low",
    low: float = -math.inf,
    low_added: bool = False,
    none_test: bool = True,
    truth_test: bool = False,
    needs: str = "any",
) -> Tensor:
    if mask is None and not none_test:
        return scaled.masked_fill(mask == 0, low)  # TypeError, as in the student's code
    if mask is not None:
        _try(mask, scaled, truth_test, needs)
    if allowed is None or masking in ("after", "after_low"):
        return scaled
    if masking == "added" or (masking == "float_added" and mask is not None and mask.is_floating_point()):
        return scaled + allowed.to(scaled.dtype)
    if masking == "times_low":
        return scaled + allowed.to(scaled.dtype) * -1e9
    if masking == "times_inf":
        return scaled + (1 - allowed.to(scaled.dtype)) * -math.inf
    if isinstance(fill, str):
        low = max(low, torch.finfo(scaled.dtype).min) if math.isfinite(low) else low
        return scaled + (~allowed).to(scaled.dtype) * low if low_added else scaled.masked_fill(~allowed, low)
    return scaled.masked_fill(~allowed, fill)  # (..., Tq, Tk)


def _try(mask: Tensor, scaled: Tensor, truth_test: bool, needs: str) -> None:
    """Raise where the student's way of using the mask would; the numbers come from `allowed`."""
    if truth_test:
        bool(mask)
    if needs == "tilde":
        scaled.masked_fill(~mask, 0.0)
    elif needs == "masked_fill":
        scaled.masked_fill(mask, 0.0)
    elif needs == "where":
        torch.where(mask, scaled, scaled)
    elif needs == "minus":
        1 - mask


# --- softmax ---


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


def _softmax(x: Tensor, softmax: str, shift: bool = True) -> Tensor:
    if softmax not in DIMENSIONS:
        return OTHER_SOFTMAXES[softmax](x)
    dimension = DIMENSIONS[softmax](x)
    if shift:
        return x.softmax(dimension)
    powers = x.exp()
    return powers / powers.sum(dimension, keepdim=True)


def shares(masked: Tensor, *, softmax: str = "keys", shift: bool = True) -> Tensor:
    return _softmax(masked, softmax, shift)  # (..., Tq, Tk)


@passes("shares")
def attention(
    shares: Tensor,
    allowed: Tensor | None,
    Q: Tensor,
    seen: Mapping[str, Tensor],
    *,
    masking: str = "fill",
    low: float = -math.inf,
    scaled_after: bool = False,
    decimals: int | None = None,
    skipped: str = "nothing",
    dropout: bool = False,
    empty: str = "as it comes",
) -> Tensor:
    """What the values are mixed with."""
    if allowed is not None and masking == "after":
        shares = shares * allowed
    if allowed is not None and masking == "after_low":
        shares = shares.masked_fill(~allowed, low)
    if empty == "zero":
        shares = shares.nan_to_num()
    if scaled_after:
        shares = shares / math.sqrt(Q.size(-1))
    if decimals is not None:
        shares = shares.round(decimals=decimals)
    if skipped != "nothing":
        shares = _without(shares, skipped)
    return _dropped(shares, seen.get("weights")) if dropout else shares


def _without(x: Tensor, skipped: str) -> Tensor:
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


def _dropped(shares: Tensor, seen: Tensor | None) -> Tensor:
    """Dropout. It can't be repeated, so what was drawn is read off what came out, where that is possible."""
    if seen is None:
        return F.dropout(shares, 0.1)
    if seen.shape != shares.shape:
        return shares
    drawn = shares.nan_to_num() != 0
    kept = drawn & (seen != 0)
    if not kept.any() or not drawn.any():
        return shares
    factor = float((seen[kept].double() / shares.detach()[kept].double()).median())
    rate = round(1 - 1 / factor, 3) if factor > 1 else 0.0
    part = 1 - float(kept.sum()) / float(drawn.sum())
    spread = 4 * math.sqrt(max(rate * (1 - rate), 0.0) / float(drawn.sum()))
    if not 0.01 <= rate <= 0.9 or abs(part - rate) > spread:
        return shares
    return shares * (seen != 0) / (1 - rate)


# --- mix ---


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
    "unmasked": lambda x: _softmax(x.scaled, x.softmax) @ x.v,
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


def output(
    attention: Tensor,
    masked: Tensor,
    scaled: Tensor,
    scores: Tensor,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    Q: Tensor,
    *,
    mix: str = "V",
    softmax: str = "keys",
    product: str = "QK",
    cut: str = "nothing",
    precision: str = "given",
    answer_dtype: str = "given",
) -> Tensor:
    if cut in ("mix", "everything"):
        attention = attention.detach()
    if cut == "everything":
        values = values.detach()
    parts = Ingredients(attention, masked, scaled, scores, queries, keys, values, softmax)
    return _answered(MIXES["bmm" if product == "bmm" else mix](parts), Q, precision, answer_dtype)  # (..., Tq, d_v)


ANSWERS: Mapping[str, Callable[[Ingredients], Tensor]] = {
    "weights": lambda x: x.a,
    "scores": lambda x: x.masked,
    "raw": lambda x: x.scores,
    "unmasked": lambda x: _softmax(x.scaled, x.softmax),
    "transposed": lambda x: x.a.mT,
    "head mean": lambda x: x.a.mean(1) if x.a.dim() > 3 else x.a,
}


@passes("attention")
def weights(
    attention: Tensor,
    masked: Tensor,
    scaled: Tensor,
    scores: Tensor,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    Q: Tensor,
    *,
    answered: str = "weights",
    softmax: str = "keys",
    cut: str = "nothing",
    precision: str = "given",
    answer_dtype: str = "given",
) -> Tensor:
    given = ANSWERS[answered](Ingredients(attention, masked, scaled, scores, queries, keys, values, softmax))
    return _answered(given.detach() if cut == "answered weights" else given, Q, precision, answer_dtype)


def _answered(x: Tensor, Q: Tensor, precision: str, answer_dtype: str) -> Tensor:
    if answer_dtype != "given":
        return x.to(getattr(torch, answer_dtype))
    return x if precision == "given" else x.to(Q.dtype)


# --- what is left behind ---


@passes("Q")
def Q_after(Q: Tensor, *, in_place: str = "nothing") -> Tensor:  # noqa: N802  # named after the argument
    if in_place != "queries":
        return Q
    if Q.requires_grad and Q.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    return Q / math.sqrt(Q.size(-1))


@passes("K")
def K_after(K: Tensor, *, in_place: str = "nothing") -> Tensor:  # noqa: N802  # named after the argument
    if in_place != "keys":
        return K
    if K.requires_grad and K.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    return K / math.sqrt(K.size(-1))


@passes("mask")
def mask_after(mask: Tensor | None, *, in_place: str = "nothing") -> Tensor | None:
    if mask is None or not in_place.startswith("mask"):
        return mask
    if in_place == "mask inverted":
        return (mask == 0).to(mask.dtype)
    if not mask.is_floating_point():
        return mask
    low = mask.masked_fill(mask == 0, -math.inf)
    return low if in_place == "mask filled" else low.masked_fill(mask != 0, 0.0)


@passes("device")
def answer_device(device: str, *, answered_on: str = "inputs") -> str:
    return "cpu" if answered_on == "cpu" else device


STEPS: tuple[Callable[..., Any], ...] = (
    queries, keys, values, scores, scaled, allowed, masked, shares, attention, output, weights,
    Q_after, K_after, mask_after, answer_device,
)  # fmt: skip
