"""36. Ask for a tensor of a terabyte.

Ends as: memory
"""

import torch


def attack(world):
    return torch.zeros(1 << 38)
