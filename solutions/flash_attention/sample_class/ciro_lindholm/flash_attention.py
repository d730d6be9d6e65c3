import math
import torch


def flash_attention(Q, K, V, block_size):
    m = torch.full(Q.shape[:-1] + (1,), float("-inf"), dtype=Q.dtype, device=Q.device)
    l = torch.zeros_like(m)
    acc = torch.zeros(Q.shape[:-1] + V.shape[-1:], dtype=Q.dtype, device=Q.device)
    for i in range(0, K.shape[-2], block_size):
        s = Q @ K[..., i : i + block_size, :].transpose(-2, -1) / math.sqrt(Q.shape[-1])
        m_new = torch.maximum(m, s.max(dim=-1, keepdim=True).values)
        p = torch.exp(s - m_new)
        l = torch.exp(m - m_new) * l + p.sum(dim=-1, keepdim=True)
        acc = acc + p @ V[..., i : i + block_size, :]
        m = m_new
    return acc / l, (m + torch.log(l)).squeeze(-1)
