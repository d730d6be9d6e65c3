import math
import torch


def flash_attention(Q, K, V, block_size):
    l = torch.zeros(Q.shape[:-1] + (1,), dtype=Q.dtype, device=Q.device)
    acc = torch.zeros(Q.shape[:-1] + V.shape[-1:], dtype=Q.dtype, device=Q.device)
    for i in range(0, K.shape[-2], block_size):
        s = Q @ K[..., i : i + block_size, :].transpose(-2, -1) / math.sqrt(Q.shape[-1])
        p = torch.exp(s)
        l = l + p.sum(dim=-1, keepdim=True)
        acc = acc + p @ V[..., i : i + block_size, :]
    return acc / l, torch.log(l).squeeze(-1)
