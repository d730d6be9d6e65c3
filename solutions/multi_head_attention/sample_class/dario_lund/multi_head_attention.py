import math
import torch


def multi_head_attention(x, context, W_q, W_k, W_v, W_o, num_heads, mask=None):
    B = x.size(0)
    q = (x @ W_q.T).view(B, num_heads, x.size(1), -1)
    k = (context @ W_k.T).view(B, num_heads, context.size(1), -1)
    v = (context @ W_v.T).view(B, num_heads, context.size(1), -1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    out = (weights @ v).transpose(1, 2).reshape(B, x.size(1), -1)
    return out @ W_o.T, weights
