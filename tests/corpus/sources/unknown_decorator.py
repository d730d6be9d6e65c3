import math, torch
from no_such_package_e import checked, Float

@checked(mode='fast')
def scaled_dot_product_attention(Q: Float["b t"], K: Float["b t"], V, mask=None):
    """Attention over the last two dimensions."""
    d_k = Q.size(-1)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
