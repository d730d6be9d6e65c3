import math
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    # causal: a position never looks ahead
    causal = torch.tril(torch.ones(Q.size(-2), K.size(-2), device=Q.device))
    scores = scores.masked_fill(causal == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
