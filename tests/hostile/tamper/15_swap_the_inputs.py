"""15. Give the input other memory, another size, other numbers.

Worth: 4
"""

import torch


def double(x):
    shape = x.shape
    x.data = torch.zeros(1)
    x.resize_(0)
    return torch.zeros(shape)
