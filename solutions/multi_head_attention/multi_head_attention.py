"""Staff master of "Multi-head attention": `grader release multi_head_attention` makes both starters from it."""

# %% tags=["script"]
"""Multi-head attention: write the one function below. README.md explains every step of it.

To try it: `grader check multi_head_attention multi_head_attention.py` in a terminal, or, in Python,

    from check_multi_head_attention import check
    check(multi_head_attention)
"""

# %% [markdown]
# # Multi-head attention
#
# Several small attentions work side by side on the same input, each with queries, keys and values of its own, and
# their results are joined. The handout (README.md) explains every step. Run the cells from top to bottom; in Colab
# nothing has to be installed.

# %%
import math

import torch
from torch import Tensor

# %% [markdown]
# ## Two ways to cut a sequence into heads
#
# One sequence of four positions has six numbers at each of them: 01 means position 0, number 1. Two heads should get
# three numbers of *each* position. Look at both ways: only one of them does that.

# %% tags=["notebook"]
positions = 10 * torch.arange(4)[:, None] + torch.arange(6)  # (T, H * d_k) = (4, 6)
print("the projection\n", positions)
print("reshape(H, T, d_k), head 0\n", positions.reshape(2, 4, 3)[0])
print("reshape(T, H, d_k), then transpose, head 0\n", positions.reshape(4, 2, 3).transpose(0, 1)[0])

# %% [markdown]
# ## Your function
#
# Write the five steps in place of the last line. The comments beside the arguments give their shapes.


# %%
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
    ### BEGIN SOLUTION
    q, k, v = (split(source @ W.T, num_heads) for source, W in ((x, W_q), (context, W_k), (context, W_v)))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # (B, H, Tq, Tk)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # (B, H, Tq, Tk)
    merged = (weights @ v).transpose(1, 2).flatten(2)  # (B, Tq, H * d_v)
    return merged @ W_o.T, weights


def split(projected: Tensor, num_heads: int) -> Tensor:
    """(B, T, H * d) -> (B, H, T, d)."""
    return projected.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    ### END SOLUTION


# %% [markdown]
# ## Is it right?
#
# The next cell only makes a file with the public checks. The one after it runs them on your function: it copies the
# weights of PyTorch's own `nn.MultiheadAttention`, compares the results, and shows what is not right yet.

# %% tags=["notebook"]
# include check_multi_head_attention.py

# %% tags=["notebook"]
from check_multi_head_attention import check

check(multi_head_attention)

# %% [markdown]
# ## What the heads look at
#
# Even with random matrices, the heads look at different places. A causal mask holds for all of them.

# %% tags=["notebook"]
import matplotlib.pyplot as plt

torch.manual_seed(0)
x = torch.randn(1, 8, 16)  # (B, T, D)
matrices = torch.randn(4, 16, 16) / 4  # W_q, W_k, W_v, W_o
try:
    output, weights = multi_head_attention(x, x, *matrices, num_heads=4, mask=torch.ones(8, 8).tril())
except NotImplementedError:
    print("Write your function first, then run this cell again.")
else:
    plt.figure(figsize=(11, 3))
    plt.imshow(torch.cat(tuple(weights[0]), dim=1), vmin=0, vmax=1)  # (Tq, H * Tk)
    plt.title("four heads side by side: a row is a query, a column a key")
    plt.show()

# %% [markdown]
# ## Hand it in
#
# Hand in this notebook, or `multi_head_attention.py` with the same function in it: one of the two.
