"""Multi-head attention: write the one function below. README.md explains every step of it.

To try it: `grader check multi_head_attention multi_head_attention.py` in a terminal, or, in Python,

    from check_multi_head_attention import check
    check(multi_head_attention)
"""

import math

import torch
from torch import Tensor


def multi_head_attention(
    x: Tensor,  # (B, Tq, D)
    context: Tensor,  # (B, Tk, C)
    W_q: Tensor,  # (H * d_k, D)
    W_k: Tensor,  # (H * d_k, C)
    W_v: Tensor,  # (H * d_v, C)
    W_o: Tensor,  # (E, H * d_v)
    num_heads: int,  # H
    mask: Tensor | None = None,  # broadcasts to (B, H, Tq, Tk); True or 1: may look, False or 0: may not
) -> tuple[Tensor, Tensor]:  # (B, Tq, E), (B, H, Tq, Tk)
    """Let `x` look at `context` with `num_heads` heads.

    1. Project: queries from x, keys and values from context. The matrices are stored as in nn.Linear.
    2. Split the heads: (B, T, H * d) becomes (B, H, T, d).
    3. Attend: scores, scale by the square root of d_k, mask, softmax, mix, for all heads at once.
    4. Merge the heads: (B, H, Tq, d_v) becomes (B, Tq, H * d_v).
    5. Project out with W_o.

    Returns the output and the weights of every head, in this order.
    """
    raise NotImplementedError("Write your code here and remove this line.")
