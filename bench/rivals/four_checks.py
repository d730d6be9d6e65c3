"""The classic four checks of attention, as a course writes them for any grader: plain asserts on one function."""

import math

import torch
import torch.nn.functional as F


def inputs():
    """Queries, keys and values (2, 3, 7, 8), and a causal mask (7, 7)."""
    torch.manual_seed(0)
    Q, K, V = torch.randn(3, 2, 3, 7, 8)
    return Q, K, V, torch.ones(7, 7).tril()


def shape(attention):
    Q, K, V, mask = inputs()
    output, weights = attention(Q, K, V, mask)
    assert output.shape == (2, 3, 7, 8), f"the output has shape {tuple(output.shape)}"
    assert weights.shape == (2, 3, 7, 7), f"the weights have shape {tuple(weights.shape)}"


def row_sum(attention):
    _, weights = attention(*inputs())
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 7), atol=1e-5), "the rows of the weights do not sum to 1"


def causal_zero(attention):
    _, weights = attention(*inputs())
    assert (weights.triu(1) == 0).all(), "a position looks at a later one"


def parity(attention):
    Q, K, V, mask = inputs()
    output, weights = attention(Q, K, V, mask)
    expected = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask.bool())
    scores = (Q @ K.mT / math.sqrt(8)).masked_fill(mask == 0, float("-inf"))
    assert torch.allclose(output, expected, atol=1e-5), "the output differs from PyTorch's own"
    assert torch.allclose(weights, scores.softmax(-1), atol=1e-5), "the weights differ"
