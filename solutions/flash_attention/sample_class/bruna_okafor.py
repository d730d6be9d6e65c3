import torch


def flash_attention(Q, K, V, block_size):
    """Keeps the output normalised and the running log-sum-exp instead of maximum and sum."""
    scale = Q.size(-1) ** -0.5
    out, lse = None, None
    for k, v in zip(K.split(block_size, dim=-2), V.split(block_size, dim=-2)):
        s = (Q * scale) @ k.mT
        block_lse = torch.logsumexp(s, dim=-1)
        block_out = torch.softmax(s, dim=-1) @ v
        if out is None:
            out, lse = block_out, block_lse
        else:
            new = torch.logaddexp(lse, block_lse)
            out = out * (lse - new).exp()[..., None] + block_out * (block_lse - new).exp()[..., None]
            lse = new
    return out, lse
