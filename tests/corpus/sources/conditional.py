try:
    import no_such_package_d as xp
except ImportError:
    xp = None
import sys
if sys.version_info >= (3, 8):
    import math
    import torch

    def root(x):
        return math.sqrt(x)
else:
    root = None

def scaled_dot_product_attention(Q, K, V, mask=None):
    """Attention over the last two dimensions."""
    assert xp is None
    d_k = Q.size(-1)
    scores = Q @ K.transpose(-2, -1) / root(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
