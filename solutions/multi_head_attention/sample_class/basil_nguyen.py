import torch
import torch.nn.functional as F


def multi_head_attention(x, context, W_q, W_k, W_v, W_o, num_heads, mask=None):
    # one einsum for each step, heads as the letter h
    q = torch.einsum("btd,hkd->bhtk", x, W_q.reshape(num_heads, -1, x.size(-1)))
    k = torch.einsum("bsc,hkc->bhsk", context, W_k.reshape(num_heads, -1, context.size(-1)))
    v = torch.einsum("bsc,hvc->bhsv", context, W_v.reshape(num_heads, -1, context.size(-1)))
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) * q.size(-1) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    joined = torch.einsum("bhts,bhsv->bthv", weights, v).flatten(2)
    return F.linear(joined, W_o), weights
