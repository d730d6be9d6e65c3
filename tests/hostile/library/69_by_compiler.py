"""69. Let the compiler build it.

Even without layers: the compiler wants a folder for its files, and there is none.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = torch.compile(F.scaled_dot_product_attention, backend="eager")(Q, K, V, None if mask is None else mask.bool())
    return output, weights
