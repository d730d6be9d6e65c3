import torch.nn.functional as F


def scaled_dot_product_attention(Q, K, V, mask=None):
    if mask is not None:
        mask = mask != 0
    output = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    weights = F.softmax(Q @ K.transpose(-2, -1) / Q.size(-1) ** 0.5, dim=-1)
    return output, weights
