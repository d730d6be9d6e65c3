import torch
from torch import nn


def multi_head_attention(x, context, W_q, W_k, W_v, W_o, num_heads, mask=None):
    mha = nn.MultiheadAttention(x.size(-1), num_heads, bias=False, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.cat([W_q, W_k, W_v]))
        mha.out_proj.weight.copy_(W_o)
    return mha(x, context, context, average_attn_weights=False)
