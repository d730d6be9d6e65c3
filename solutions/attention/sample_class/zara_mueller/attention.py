import math
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        blocked = torch.full(scores.shape, float("-inf"), dtype=scores.dtype)
        scores = torch.where(mask != 0, scores, blocked)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
