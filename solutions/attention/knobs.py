"""Attention with knobs: the reference when every knob stands at its default, a known wrong idea otherwise.

Each function is a step that computes the value of its name; positional parameters name the values it needs, and
keyword-only parameters are the knobs. Where an idea stops with an exception, so does its step, with the operator
that the student would have used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from choices import ANSWERS, DIVISORS, MIXES, OWN_MASKS, PRODUCTS, Ingredients, normalised, read, without
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


def scores(queries: Tensor, keys: Tensor, values: Tensor, *, product: str = "QK", cut: str = "nothing") -> Tensor:
    raw = PRODUCTS[product](queries, keys, values)  # (..., Tq, Tk)
    return raw.detach() if cut in ("scores", "everything") else raw


# --- scale ---


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
    kept = None if mask is None else read(mask, reads)
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
        hidden: Any = mask == 0  # False, a plain bool
        filled: Tensor = scaled.masked_fill(hidden, low)  # TypeError, as in the student's code
        return filled
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


def shares(masked: Tensor, *, softmax: str = "keys", shift: bool = True) -> Tensor:
    return normalised(masked, softmax, shift)  # (..., Tq, Tk)


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
        shares = without(shares, skipped)
    return _dropped(shares, seen.get("weights")) if dropout else shares


def _dropped(shares: Tensor, seen: Tensor | None) -> Tensor:
    """Dropout. It can't be repeated, so what was drawn is read off what came out, where that is possible."""
    if seen is None:
        return F.dropout(shares, 0.1)
    if seen.shape != shares.shape:
        return shares
    drawn = shares.nan_to_num() != 0
    kept = drawn & (seen != 0)
    if not kept.any():  # all of them dropped: believed of a few only
        return shares * 0 if 0 < drawn.sum() <= 4 else shares
    first = int(kept.reshape(-1).to(torch.uint8).argmax())
    if float(seen.reshape(-1)[first]) / float(shares.reshape(-1)[first]) < 1.01:  # what is kept grows
        return shares
    factor = float((seen[kept].double() / shares.detach()[kept].double()).median())
    rate = round(1 - 1 / factor, 3) if factor > 1 else 0.0
    part = 1 - float(kept.sum()) / float(drawn.sum())
    count = float(drawn.sum())
    spread = 4 * math.sqrt(max(rate * (1 - rate), 0.0) / count) + 1 / count
    if not 0.01 <= rate <= 0.9 or abs(part - rate) > spread:
        return shares
    return shares * (seen != 0) / (1 - rate)


# --- mix ---


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
