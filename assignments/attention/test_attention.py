"""Public checks: `grader check attention attention.py` runs them on your own machine. They are not the mark."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.checks import expect, points

ROUNDING = 1e-5
"""More than what float32 rounds off at these sizes, and far less than what a wrong formula is off by."""
TABLE = ("query", "key")
SCALE = "Divide the scores by the square root of d_k, the last dimension of Q. Mix V with the weights."
MASK = "Before the softmax, put minus infinity where the mask is 0. Keep what masked_fill returns."


def cases() -> Iterator[tuple[str, Tensor, Tensor, Tensor, Tensor | None]]:
    """(words, Q, K, V, mask): B = 2 sequences, H = 3 heads, Tq = 5, Tk = 6, d_k = 4, d_v = 7."""
    causal = torch.ones(5, 6).tril()  # (Tq, Tk)
    padding = torch.ones(2, 1, 1, 6, dtype=torch.bool)  # (B, 1, 1, Tk)
    padding[1, ..., 4:] = False
    for words, mask in (("no mask", None), ("causal mask", causal), ("padding mask", padding)):
        yield words, torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 7), mask


@points(1)
def test_shapes(student):
    """Output and weights have the right shapes."""
    for words, Q, K, V, mask in cases():
        with expect.case(words):
            output, weights = student(Q, K, V) if mask is None else student(Q, K, V, mask)
            expect.shape(output, (2, 3, 5, 7), name="The output")
            expect.shape(weights, (2, 3, 5, 6), name="The weights")


@points(1)
def test_rows_sum_to_one(student):
    """Each row of the weights sums to 1."""
    for words, Q, K, V, mask in cases():
        with expect.case(words):
            _, weights = student(Q, K, V, mask)
            hint = "The softmax must run over the keys, the last dimension, after the mask."
            expect.close(weights.sum(-1), 1.0, bound=ROUNDING, name="The sum of a row of weights", hint=hint)


@points(1)
def test_masked_keys_get_nothing(student):
    """A key that the mask forbids has a weight of exactly 0."""
    for words, Q, K, V, mask in cases():
        if mask is not None:
            with expect.case(words):
                _, weights = student(Q, K, V, mask)
                expect.zero(weights, mask == 0, name="The weight", axes=TABLE, hint=MASK)


@points(1)
def test_same_as_pytorch(student):
    """The output agrees with PyTorch's own attention."""
    for words, Q, K, V, mask in cases():
        with expect.case(words):
            output, _ = student(Q, K, V, mask)
            expected = F.scaled_dot_product_attention(Q, K, V, attn_mask=None if mask is None else mask != 0)
            hint = SCALE if mask is None else MASK
            expect.close(output, expected, bound=ROUNDING, name="The output", axes=("query", "feature"), hint=hint)
