"""69. Use the function under the layer."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    flat = Q.reshape(-1, *Q.shape[-2:]).transpose(0, 1)
    dim = Q.size(-1)
    eye = torch.eye(dim)
    output, _ = F.multi_head_attention_forward(
        flat, flat, flat, dim, 1, torch.cat([eye] * 3), None, None, None, False, 0.0, eye, None
    )
    return output.transpose(0, 1).reshape(Q.shape), weights
