import torch


def scaled_dot_product_attention(Q, K, V):
    scores = Q @ K.transpose(-2, -1) / Q.size(-1) ** 0.5
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
