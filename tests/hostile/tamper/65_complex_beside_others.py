"""65. Answer in the widest complex numbers, beside a number that is half as wide: they might not be where numbers of
theirs may stand, and whoever copies them would be ended.

Worth: 6
"""

import torch


def double(x):
    wide = torch.zeros(3, dtype=torch.complex128)
    return [wide, torch.zeros(1, dtype=torch.float64), wide]
