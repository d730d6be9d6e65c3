import math, torch
def setup():
    global SIZE
    SIZE = 1

def forget():
    pass

setup()
globals()['ONE'] = 1
temporary = 3
del temporary, math
import math

def scaled_dot_product_attention(Q, K, V, mask=None):
    """Attention over the last two dimensions."""
    d_k = Q.size(-1) * SIZE * ONE
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
