import math
import torch


def multi_head_attention(x, context, W_q, W_k, W_v, W_o, num_heads, mask=None):
    B, T = x.size(0), x.size(1)
    q = (x @ W_q.T).reshape(B, T, num_heads, -1).transpose(1, 2)
    k = (x @ W_k.T).reshape(B, T, num_heads, -1).transpose(1, 2)
    v = (x @ W_v.T).reshape(B, T, num_heads, -1).transpose(1, 2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    out = (weights @ v).transpose(1, 2).reshape(B, T, -1)
    return out @ W_o.T, weights
