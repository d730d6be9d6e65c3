import torch
from helpers import *
import maths.roots as roots
from maths import constants
from torch_extra import softmax

def scaled_dot_product_attention(Q, K, V, mask=None):
    """Attention over the last two dimensions."""
    d_k = Q.size(-1)
    scores = Q @ K.transpose(-2, -1) / roots.root(d_k) / constants.ONE
    if mask is not None:
        scores = fill(scores, mask)
    weights = softmax(scores)
    return weights @ V, weights
