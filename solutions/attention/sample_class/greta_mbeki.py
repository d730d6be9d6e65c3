import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    logits = torch.matmul(Q, K.transpose(2, 3) if Q.dim() == 4 else K.transpose(-2, -1))
    logits = logits / Q.size(-1) ** 0.5
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=Q.dtype)
        bias = bias.masked_fill(mask == 0, float("-inf"))
        logits = logits + bias
    weights = torch.nn.Softmax(dim=-1)(logits)
    return torch.matmul(weights, V), weights
