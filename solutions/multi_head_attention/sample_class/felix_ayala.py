import math
import torch


def multi_head_attention(x, context, W_q, W_k, W_v, W_o, num_heads, mask=None):
    d_model = x.size(-1)
    B = x.size(0)
    q = (x @ W_q.T).reshape(B, x.size(1), num_heads, -1).transpose(1, 2)
    k = (context @ W_k.T).reshape(B, context.size(1), num_heads, -1).transpose(1, 2)
    v = (context @ W_v.T).reshape(B, context.size(1), num_heads, -1).transpose(1, 2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(d_model)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    out = (weights @ v).transpose(1, 2).reshape(B, x.size(1), -1)
    return out @ W_o.T, weights
