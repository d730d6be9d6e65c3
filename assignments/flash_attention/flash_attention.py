"""Attention in blocks: write the one function below. README.md explains every step of it.

To try it: `grader check flash_attention flash_attention.py` in a terminal, or, in Python,

    from check_flash_attention import check
    check(flash_attention)
"""

import math

import torch
from torch import Tensor


def flash_attention(
    Q: Tensor,  # (..., Tq, d_k)
    K: Tensor,  # (..., Tk, d_k)
    V: Tensor,  # (..., Tk, d_v)
    block_size: int,  # keys in a block; the last block may be shorter
) -> tuple[Tensor, Tensor]:  # (..., Tq, d_v), (..., Tq)
    """Attention over the keys block by block, with a running maximum, sum and output.

    1. Start: the maximum is minus infinity, the sum and the output are 0.
    2. For each block of keys, compute its scores, (..., Tq, block), scaled by the square root of d_k.
    3. Find the new maximum, and mend the sum and the output, which were relative to the old one.
    4. Add what the block contributes to both.
    5. After the last block, divide once.

    Returns the output and, for each query, the logarithm of the sum of the exponentials of its scores.
    """
    raise NotImplementedError("Write your code here and remove this line.")
