"""Public checks: `grader check multi_head_attention` runs them on your own machine. They are not the mark."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grader.checks import expect, points

ROUNDING = 1e-5
"""More than what float32 rounds off at these sizes, and far less than what a wrong formula is off by."""
HEADS, WIDTH = 2, 6


def library() -> tuple[nn.MultiheadAttention, list[Tensor]]:
    """PyTorch's own module and its four matrices: W_q, W_k, W_v, W_o, each (WIDTH, WIDTH)."""
    module = nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True)
    return module, [matrix.detach() for matrix in (*module.in_proj_weight.chunk(3), module.out_proj.weight)]


@points(1)
def test_shapes(student):
    """Output and weights have the right shapes, when all sizes differ."""
    x, context = torch.randn(2, 4, 9), torch.randn(2, 5, 7)  # (B, Tq, D), (B, Tk, C)
    matrices = torch.randn(6, 9), torch.randn(6, 7), torch.randn(12, 7), torch.randn(8, 12)  # d_k = 2, d_v = 4, E = 8
    output, weights = student(x, context, *matrices, 3)
    expect.shape(output, (2, 4, 8), name="The output")
    expect.shape(weights, (2, 3, 4, 5), name="The weights tensor")


@points(1)
def test_self_attention(student):
    """Self-attention gives the numbers of nn.MultiheadAttention."""
    module, matrices = library()
    x = torch.randn(2, 4, WIDTH)
    output, weights = student(x, x, *matrices, HEADS)
    with torch.no_grad():
        wanted, shares = module(x, x, x, average_attn_weights=False)
    hint = (
        "Split the last dimension first, then swap. Divide by the square root of d_k, the length of one head's query."
    )
    expect.close(weights, shares, bound=ROUNDING, name="The weights tensor", axes=("query", "key"), hint=hint)
    hint = "Swap the heads back before you join them, then multiply with W_o.T."
    expect.close(output, wanted, bound=ROUNDING, name="The output", axes=("query", "feature"), hint=hint)


@points(1)
def test_masked_keys_get_nothing(student):
    """A key that the mask forbids has a weight of exactly 0 in every head."""
    x = torch.randn(2, 4, WIDTH)
    mask = torch.ones(4, 4).tril()
    _, weights = student(x, x, *library()[1], HEADS, mask)
    hint = "Before the softmax, put minus infinity where the mask is 0. Keep what masked_fill returns."
    expect.zero(weights, mask == 0, name="The weight", axes=("query", "key"), hint=hint)
