"""Staff master of "Attention in blocks": `grader release flash_attention` makes both starters from it."""

# %% tags=["script"]
"""Attention in blocks: write the one function below. README.md explains every step of it.

To try it: `grader check flash_attention flash_attention.py` in a terminal, or, in Python,

    from check_flash_attention import check
    check(flash_attention)
"""

# %% [markdown]
# # Attention in blocks: the softmax behind FlashAttention
#
# The same numbers as plain attention, without ever making the table of all scores. The handout (README.md) explains
# every step. Run the cells from top to bottom; in Colab nothing has to be installed.

# %%
import math

import torch
from torch import Tensor

# %% [markdown]
# ## How large the table is
#
# One head, 16-bit numbers: this is what plain attention would need for the scores alone.

# %% tags=["notebook"]
for T in (1_000, 10_000, 100_000):
    print(f"T = {T:7}: all scores {T * T * 2 / 1e9:8.3f} GB, blocks of 128 keys {T * 128 * 2 / 1e9:6.3f} GB")

# %% [markdown]
# ## Your function
#
# Write the steps in place of the last line. The comments beside the arguments give their shapes.


# %%
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
    ### BEGIN SOLUTION
    biggest = Q.new_full((*Q.shape[:-1], 1), -math.inf)  # (..., Tq, 1)
    total = torch.zeros_like(biggest)  # (..., Tq, 1)
    mixed = Q.new_zeros((*Q.shape[:-1], V.size(-1)))  # (..., Tq, d_v)
    for start in range(0, K.size(-2), block_size):
        keys, values = (x[..., start : start + block_size, :] for x in (K, V))
        scores = Q @ keys.transpose(-2, -1) / math.sqrt(Q.size(-1))  # (..., Tq, block)
        raised = torch.maximum(biggest, scores.amax(-1, keepdim=True))
        mend = torch.exp(biggest - raised)
        shares = torch.exp(scores - raised)
        total = total * mend + shares.sum(-1, keepdim=True)
        mixed = mixed * mend + shares @ values
        biggest = raised
    return mixed / total, (biggest + total.log()).squeeze(-1)
    ### END SOLUTION


# %% [markdown]
# ## Is it right?
#
# The next cell only makes a file with the public checks. The one after it runs them on your function: it compares
# your numbers with PyTorch's own attention, and shows what is not right yet, with a picture.

# %% tags=["notebook"]
# include check_flash_attention.py

# %% tags=["notebook"]
from check_flash_attention import check

check(flash_attention)

# %% [markdown]
# ## The running values
#
# One query, eight keys, blocks of two: the running maximum rises, and each time it does, what was summed up before
# has to shrink by the factor in the last column.

# %% tags=["notebook"]
torch.manual_seed(3)
row = torch.randn(8).mul(2).sort().values  # the scores of one query, rising
largest = -math.inf
for block in row.split(2):
    new = max(largest, block.max().item())
    print(f"scores {block[0]:5.2f} {block[1]:5.2f}   maximum {new:5.2f}   factor {math.exp(largest - new):.3f}")
    largest = new

# %% [markdown]
# ## The block size does not matter
#
# The difference between blocks of one size and one large block is rounding only.

# %% tags=["notebook"]
import matplotlib.pyplot as plt

Q, K, V = torch.randn(3, 2, 40, 16)
sizes = list(range(1, 45))
try:
    whole, _ = flash_attention(Q, K, V, 40)
except NotImplementedError:
    print("Write your function first, then run this cell again.")
else:
    plt.plot(sizes, [(flash_attention(Q, K, V, size)[0] - whole).abs().max().item() for size in sizes], ".")
    plt.xlabel("block size")
    plt.ylabel("largest difference")
    plt.show()

# %% [markdown]
# ## Hand it in
#
# Hand in this notebook, or `flash_attention.py` with the same function in it: one of the two.
