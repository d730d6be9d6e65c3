import math
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    Q /= math.sqrt(Q.size(-1))
    scores = Q @ K.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
