"""Cheap answers that are particular to attention: none may get full marks. The general ones are in grader.auditing."""

from __future__ import annotations

import math

import torch
from torch import Tensor

Answer = tuple[Tensor, Tensor]


def _attend(Q: Tensor, K: Tensor, V: Tensor, keep: Tensor | None) -> Answer:
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if keep is not None:
        scores = scores.masked_fill(~keep, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights


def _kept(Q: Tensor, K: Tensor, mask: Tensor | None) -> Tensor:
    shape = (*Q.shape[:-1], K.size(-2))
    return torch.ones(shape, dtype=torch.bool, device=Q.device) if mask is None else (mask != 0).expand(shape)


def mean_of_values(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Every query takes the same from every key."""
    weights = torch.full((*Q.shape[:-1], K.size(-2)), 1 / K.size(-2), dtype=Q.dtype, device=Q.device)
    return weights @ V, weights


def mean_of_what_is_kept(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Every query takes the same from every key that it may look at: rows and zeros are right."""
    kept = _kept(Q, K, mask).to(Q.dtype)
    weights = kept / kept.sum(-1, keepdim=True)
    return weights @ V, weights


def random_shares_of_what_is_kept(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Random rows that sum to 1 with zeros in the right places."""
    scores = torch.randn((*Q.shape[:-1], K.size(-2)), dtype=Q.dtype, device=Q.device)
    weights = torch.softmax(scores.masked_fill(~_kept(Q, K, mask), -math.inf), dim=-1)
    return weights @ V, weights


def copy_of_values(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Query i takes all of value i (counted round and round)."""
    index = torch.arange(Q.size(-2), device=Q.device) % K.size(-2)
    weights = torch.eye(K.size(-2), dtype=Q.dtype, device=Q.device)[index].expand(*Q.shape[:-1], K.size(-2))
    return V[..., index, :], weights.clone()


def best_key_only(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """The largest score takes everything."""
    scores = (Q @ K.transpose(-2, -1)).masked_fill(~_kept(Q, K, mask), -math.inf)
    weights = torch.nn.functional.one_hot(scores.argmax(-1), K.size(-2)).to(Q.dtype)
    return weights @ V, weights


def no_mask_at_all(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """The answer for another mask: none."""
    return _attend(Q, K, V, None)


def always_causal(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """The answer for another mask: the causal one."""
    return _attend(Q, K, V, _kept(Q, K, None).tril())


def causal_beside_the_mask(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """A causal mask of its own, whenever any mask is given, beside the one that is given."""
    return _attend(Q, K, V, None if mask is None else _kept(Q, K, mask).tril())


def the_opposite_mask(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """The answer for another mask: what is hidden is kept and the reverse."""
    return _attend(Q, K, V, None if mask is None else ~_kept(Q, K, mask))


def the_mask_of_the_first_item(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """The answer for another mask: all sequences get that of the first."""
    kept = _kept(Q, K, mask)
    return _attend(Q, K, V, kept[:1].expand_as(kept) if kept.dim() > 2 else kept)


def right_weights_and_no_output(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Only the weights are right."""
    output, weights = _attend(Q, K, V, None if mask is None else _kept(Q, K, mask))
    return torch.zeros_like(output), weights


def right_output_and_even_weights(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Only the output is right."""
    output, _ = _attend(Q, K, V, None if mask is None else _kept(Q, K, mask))
    return output, mean_of_values(Q, K, V)[1]


def the_librarys_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """The library computes the output. The right numbers, but not from scratch."""
    kept = None if mask is None else mask != 0
    output = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=kept)
    return output, _attend(Q, K, V, None if mask is None else _kept(Q, K, mask))[1]


def in_float16(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Computed in half precision whatever comes in."""
    answer = _attend(Q.half(), K.half(), V.half(), None if mask is None else _kept(Q, K, mask))
    return answer[0].to(Q.dtype), answer[1].to(Q.dtype)


def rounded_to_four_digits(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Both results rounded, as when golden numbers are copied from a page."""
    output, weights = _attend(Q, K, V, None if mask is None else _kept(Q, K, mask))
    return output.round(decimals=4), weights.round(decimals=4)


def one_hidden_key_let_through(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """The last query of the last head also sees the last key."""
    kept = _kept(Q, K, mask).clone()
    kept[..., -1, -1] = True
    return _attend(Q, K, V, None if mask is None else kept)


# --- slips that hardly show: each is seen by one check, which is what that check is for ---


def views_for_contiguous_inputs_only(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """view() in place of reshape()."""
    q, k, v = (x.view(x.shape) if x.is_contiguous() else x.view(-1).view(x.shape) for x in (Q, K, V))
    return _attend(q, k, v, None if mask is None else _kept(Q, K, mask))


def sizes_of_1_squeezed_away(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """squeeze() without a dimension."""
    output, weights = _attend(Q, K, V, None if mask is None else _kept(Q, K, mask))
    return output.squeeze(), weights.squeeze()


def noise_below_the_tolerance(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """A random number too small for any tolerance, different in each call."""
    output, weights = _attend(Q, K, V, None if mask is None else _kept(Q, K, mask))
    return output + 1e-7 * output.abs() * torch.randn_like(output), weights


def a_whiff_of_every_value(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """Hidden values enter by a factor too small for any tolerance."""
    output, weights = _attend(Q, K, V, None if mask is None else _kept(Q, K, mask))
    return output + 1e-30 * V.mean(-2, keepdim=True), weights


def one_empty_row_spoils_all(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Answer:
    """A query without keys makes every row NaN."""
    output, weights = _attend(Q, K, V, None if mask is None else _kept(Q, K, mask))
    spoiled = weights.detach().sum() * 0
    return output + spoiled, weights + spoiled
