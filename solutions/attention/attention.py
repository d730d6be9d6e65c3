"""Staff master of "Self-attention from scratch": `grader release attention` makes both starters from it.

The reference is the plain formula, so that a query whose keys are all masked gives NaN: 0/0. Libraries that
give 0 there are right too; the checks accept both.
"""

# %% tags=["script"]
"""Self-attention from scratch: write the one function below. README.md explains every step of it.

To try it: `grader check attention attention.py` in a terminal, or, in Python,

    from check_attention import check
    check(scaled_dot_product_attention)
"""

# %% [markdown]
# # Self-attention from scratch
#
# Each position of a sequence looks at the others, decides how much each of them matters, and takes a weighted mean
# of what they hold. You will write the one function that does it:
#
# $$\text{output} = \text{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}} + \text{mask}\right) V$$
#
# The handout (README.md) explains every step. Run the cells from top to bottom; in Colab nothing has to be installed.

# %%
import math

import torch
from torch import Tensor

# %% [markdown]
# ## Who may look at whom
#
# The mask says which query (row) may look at which key (column): 1 means that it may, 0 that it may not. Here is the
# causal mask, with which a position sees itself and what came before it.

# %% tags=["notebook"]
import matplotlib.pyplot as plt

T = 8
causal = torch.ones(T, T).tril()  # (Tq, Tk)


def draw(table, title):
    """Draw a (queries, keys) table: the brighter, the larger."""
    plt.figure(figsize=(3.5, 3.5))
    plt.imshow(table.detach(), vmin=0, vmax=1)
    plt.title(title)
    plt.xlabel("key")
    plt.ylabel("query")
    plt.colorbar(shrink=0.7)
    plt.show()


draw(causal, "causal mask")

# %% [markdown]
# ## Your function
#
# Write the four steps in place of the last line. The comments beside the arguments give their shapes: `...` stands
# for any leading dimensions, such as (B, H) for B sequences and H heads.


# %%
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
    ### BEGIN SOLUTION
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))  # (..., Tq, Tk)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # (..., Tq, Tk)
    return weights @ V, weights  # (..., Tq, d_v), (..., Tq, Tk)
    ### END SOLUTION


# %% [markdown]
# ## Is it right?
#
# The next cell only makes a file with the public checks. The one after it runs them on your function: it compares
# your numbers with PyTorch's own attention, and shows what is not right yet, with a picture.

# %% tags=["notebook"]
# include check_attention.py

# %% tags=["notebook"]
from check_attention import check

check(scaled_dot_product_attention)

# %% [markdown]
# ## What the weights look like
#
# Row 0 may look only at itself, so its weight there is 1. What should the last row look like? And what changes when you
# leave the mask out?

# %% tags=["notebook"]
torch.manual_seed(0)
Q, K, V = torch.randn(3, T, 16)  # each (T, d_k)
try:
    output, weights = scaled_dot_product_attention(Q, K, V, causal)
except NotImplementedError:
    print("Write your function first, then run this cell again.")
else:
    draw(weights, "weights under the causal mask")
    draw(scaled_dot_product_attention(Q, K, V)[1], "weights without a mask")

# %% [markdown]
# ## Why the square root?
#
# The longer the vectors, the larger their dot products: their typical size is the square root of d_k. Softmax turns
# large scores into "all on one key". Compare the largest weight of a row with and without the scaling.

# %% tags=["notebook"]
for d_k in (4, 64, 1024):
    dots = torch.randn(1000, 16, d_k) @ torch.randn(1000, d_k, 1)  # (1000, 16, 1): 16 scores for each of 1000 queries
    plain, scaled = dots.softmax(1).amax(1).mean(), (dots / d_k**0.5).softmax(1).amax(1).mean()
    print(f"d_k = {d_k:4}: largest of 16 weights {plain:.2f} unscaled, {scaled:.2f} scaled")

# %% [markdown]
# ## Hand it in
#
# Hand in this notebook, or `attention.py` with the same function in it: one of the two. The public checks above try
# less than the ones that give the mark.
