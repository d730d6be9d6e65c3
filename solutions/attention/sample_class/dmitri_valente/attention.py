import math
import torch


def one_head(q, k, v, allowed):
    rows = []
    weights = []
    for i in range(q.shape[0]):
        row = k @ q[i] / math.sqrt(q.shape[1])
        if allowed is not None:
            row = row.masked_fill(allowed[i] == 0, float("-inf"))
        w = torch.softmax(row, dim=0)
        weights.append(w)
        rows.append((w[:, None] * v).sum(dim=0))
    return torch.stack(rows), torch.stack(weights)


def scaled_dot_product_attention(Q, K, V, mask=None):
    batch = Q.shape[:-2]
    q = Q.reshape(-1, Q.shape[-2], Q.shape[-1])
    k = K.reshape(-1, K.shape[-2], K.shape[-1])
    v = V.reshape(-1, V.shape[-2], V.shape[-1])
    if mask is not None:
        mask = mask.expand(*batch, Q.shape[-2], K.shape[-2]).reshape(-1, Q.shape[-2], K.shape[-2])
    outs, ws = [], []
    for b in range(q.shape[0]):
        o, w = one_head(q[b], k[b], v[b], None if mask is None else mask[b])
        outs.append(o)
        ws.append(w)
    output = torch.stack(outs).reshape(*batch, Q.shape[-2], V.shape[-1])
    weights = torch.stack(ws).reshape(*batch, Q.shape[-2], K.shape[-2])
    return output, weights
