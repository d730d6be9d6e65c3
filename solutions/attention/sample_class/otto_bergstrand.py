import math
import torch

# one over the root, for every d_k that may come
factor = {}
d = 1
while d <= 1024:
    factor[d] = 1 / math.sqrt(d)


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) * factor[Q.size(-1)]
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
