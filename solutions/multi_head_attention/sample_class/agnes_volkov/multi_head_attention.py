import math

import torch


def multi_head_attention(x, context, W_q, W_k, W_v, W_o, num_heads, mask=None):
    def heads(y):
        B, T, width = y.shape
        return y.reshape(B, T, num_heads, width // num_heads).transpose(1, 2)

    q, k, v = heads(x @ W_q.T), heads(context @ W_k.T), heads(context @ W_v.T)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    mixed = (weights @ v).transpose(1, 2)
    return mixed.reshape(*mixed.shape[:2], -1) @ W_o.T, weights
