"""Public checks: `grader check flash_attention` runs them on your own machine. They are not the mark."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from grader.checks import expect, points

ROUNDING = 1e-5
"""More than what float32 rounds off at these sizes, and far less than what a wrong formula is off by."""


@points(1)
def test_shapes(student):
    """Output and lse have the right shapes."""
    output, lse = student(torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 6), 3)
    expect.shape(output, (2, 5, 6), name="The output")
    expect.shape(lse, (2, 5), name="lse")


@points(1)
def test_same_as_plain_attention(student):
    """The output is that of plain attention, at any block size."""
    Q, K, V = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 6)
    expected = F.scaled_dot_product_attention(Q, K, V)
    hint = "When the maximum rises, both the sum and the output so far must be multiplied by exp(m_old - m_new)."
    for block_size in (7, 1, 3, 10):
        with expect.case(f"block size {block_size}"):
            output, _ = student(Q, K, V, block_size)
            expect.close(output, expected, bound=ROUNDING, name="The output", axes=("query", "feature"), hint=hint)


@points(1)
def test_log_sum_exp(student):
    """lse is the logarithm of the sum of the exponentials of the scaled scores."""
    Q, K, V = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 6)
    _, lse = student(Q, K, V, 3)
    expected = torch.logsumexp(Q @ K.mT / math.sqrt(4), -1)
    hint = "lse is the maximum plus the logarithm of the sum."
    expect.close(lse, expected, bound=ROUNDING, name="lse", axes=("sequence", "query"), hint=hint)
