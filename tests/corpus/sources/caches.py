import math
import torch
import torch.nn as nn
import torch.nn.functional as F

SIZES = {}
SIZES['x'] = 1
calls = 0
layers = []
layers.append(nn.Softmax(dim=-1))

def scaled_dot_product_attention(Q, K, V, mask=None):
    """Attention over the last two dimensions."""
    global calls, last
    calls += SIZES['x']
    last = Q
    d_k = Q.size(-1)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = layers[0](scores)
    return weights @ V, weights

last = broken_demo()
