"""63. Answer one number and let it be broadcast.

Worth: 2
"""

import torch


def double(x):
    return torch.tensor(0.0)
