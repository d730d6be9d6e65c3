import torch
import torch.nn.functional as F


def scaled_dot_product_attention(Q, K, V, mask=None):
    # 1. scores
    scores = Q @ K.transpose(-1, -2)
    # 2. scale
    scores = scores / (K.size(-1) ** 0.5)
    # 3. mask: a very large negative number, e^(-1e9) is 0
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    # 4. softmax
    attn = F.softmax(scores, dim=-1)
    return attn @ V, attn
