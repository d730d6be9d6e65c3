"""63. Answer with nothing, of which all elements are right.

Worth: 2
"""

import torch


def double(x):
    return torch.empty(0)
