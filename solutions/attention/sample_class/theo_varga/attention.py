"""Self-attention from scratch: write the one function below. README.md explains every step of it.

To try it: `grader check attention attention.py` in a terminal, or, in Python,

    from check_attention import check
    check(scaled_dot_product_attention)
"""

import math

import torch
from torch import Tensor


def scaled_dot_product_attention(
    Q: Tensor,  # (..., Tq, d_k)
    K: Tensor,  # (..., Tk, d_k)
    V: Tensor,  # (..., Tk, d_v)
    mask: Tensor | None = None,  # broadcasts to (..., Tq, Tk); True or 1: may look, False or 0: may not
) -> tuple[Tensor, Tensor]:  # (..., Tq, d_v), (..., Tq, Tk)
    """Mix the values: each query takes most from the keys that match it best.

    1. Scores: the dot product of every query with every key, (..., Tq, Tk).
    2. Scale: divide by the square root of d_k.
    3. Mask: where the mask is 0, the score becomes minus infinity.
    4. Softmax over the keys gives the weights; the weights mix the values.

    Returns the output and the weights, in this order.
    """
    raise NotImplementedError("Write your code here and remove this line.")
