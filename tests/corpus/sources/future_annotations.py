"""Attention."""
from __future__ import annotations
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from no_such_package_c import Float

def scaled_dot_product_attention(Q: Float["b t d"], K: Float, V: Float, mask: Float | None = None) -> tuple[Float, Float]:
    """Attention over the last two dimensions."""
    d_k = Q.size(-1)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
