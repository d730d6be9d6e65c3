import math
import torch


def flash_attention(Q, K, V, block_size):
    outs = []
    for i in range(0, K.shape[-2], block_size):
        s = Q @ K[..., i : i + block_size, :].transpose(-2, -1) / math.sqrt(Q.shape[-1])
        outs.append(torch.softmax(s, dim=-1) @ V[..., i : i + block_size, :])
    output = torch.stack(outs).mean(dim=0)
    return output, torch.zeros(Q.shape[:-1], dtype=Q.dtype, device=Q.device)
