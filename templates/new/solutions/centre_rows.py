"""Staff master: `grader release centre_rows` makes both starters from it."""

# %% tags=["script"]
"""Centre the rows: write the one function below. README.md explains the steps."""

# %% [markdown]
# # Centre the rows
#
# Write the function, then run the cells below it. README.md explains the steps.

# %%
import torch
from torch import Tensor


# %%
def centre_rows(x: Tensor) -> Tensor:  # (..., N, D) -> (..., N, D)
    """Move each row so that its mean is 0."""
    ### BEGIN SOLUTION
    return x - x.mean(dim=-1, keepdim=True)
    ### END SOLUTION


# %% [markdown]
# ## Is it right?
#
# The next cell only makes a file with the public check. The one after it runs it on your function.

# %% tags=["notebook"]
# include check_centre_rows.py

# %% tags=["notebook"]
from check_centre_rows import check

check(centre_rows)
