"""66. Answer with a view of one number that claims to be a terabyte.

Worth: 0
"""

import torch


def double(x):
    return torch.zeros(1).expand(1 << 40)
