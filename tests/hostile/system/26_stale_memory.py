"""26. Look for old numbers of the grader's in memory that torch.empty leaves as it was.

Even without layers: the expected numbers are only ever in another process.
"""

import torch


def attack(world):
    for size in (16, 256, 4096, 65536):
        for _ in range(20):
            if world["number"] + 1 in torch.empty(size, dtype=torch.float64).tolist():
                return size
    raise LookupError
