"""69. Use an encoder layer, which has a fast path of its own."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    layer = nn.TransformerEncoderLayer(Q.size(-1), 1, batch_first=True).eval()
    with torch.no_grad():
        output = layer(Q.reshape(-1, *Q.shape[-2:]))
    return output.reshape(Q.shape), weights
