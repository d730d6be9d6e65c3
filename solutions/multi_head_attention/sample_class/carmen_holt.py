import torch


def multi_head_attention(x, context, W_q, W_k, W_v, W_o, num_heads, mask=None):
    """One head after the other."""
    Q, K, V = x @ W_q.T, context @ W_k.T, context @ W_v.T
    outs, all_weights = [], []
    for h, (q, k, v) in enumerate(zip(Q.chunk(num_heads, -1), K.chunk(num_heads, -1), V.chunk(num_heads, -1))):
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            full = torch.broadcast_to(mask, (x.shape[0], num_heads, x.shape[1], context.shape[1]))
            s = s.masked_fill(full[:, h] == 0, float("-inf"))
        w = s.softmax(-1)
        outs.append(w @ v)
        all_weights.append(w)
    return torch.cat(outs, -1) @ W_o.T, torch.stack(all_weights, 1)
