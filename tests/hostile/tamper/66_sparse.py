"""66. Answer with a sparse tensor of a huge shape.

Worth: 0
"""

import torch


def double(x):
    return torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.long), torch.ones(1), (1 << 50,))
