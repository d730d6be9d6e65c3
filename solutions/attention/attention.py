"""Staff master of "Self-attention from scratch": `grader release attention` makes both starters from it.

The reference is the plain formula, so that a query whose keys are all masked gives NaN: 0/0. Libraries that
give 0 there are right too; the checks accept both.
"""

# %% tags=["script"]
"""Self-attention from scratch: write the one function below. README.md explains each step."""

# %%
import math

import torch
from torch import Tensor


# %%
def scaled_dot_product_attention(
    Q: Tensor,  # (..., Tq, d_k)
    K: Tensor,  # (..., Tk, d_k)
    V: Tensor,  # (..., Tk, d_v)
    mask: Tensor | None = None,  # broadcastable to (..., Tq, Tk)
) -> tuple[Tensor, Tensor]:
    """Mix the values: each query takes most from the keys that match it best."""
    ### BEGIN SOLUTION
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))  # (..., Tq, Tk)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # (..., Tq, Tk)
    return weights @ V, weights
    ### END SOLUTION
