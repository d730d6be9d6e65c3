from torch import *
from math import *

def scaled_dot_product_attention(Q, K, V, mask=None):
    """Attention over the last two dimensions."""
    d_k = Q.size(-1)
    scores = Q @ K.transpose(-2, -1) / sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -inf)
    weights = softmax(scores, dim=-1)
    return weights @ V, weights + 0 * sum(weights, dim=-1, keepdim=True)
