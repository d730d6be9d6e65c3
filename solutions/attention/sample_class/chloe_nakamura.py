import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    """Written with einsum because I find the letters easier to read."""
    sim = torch.einsum("...qd,...kd->...qk", Q, K) * Q.shape[-1] ** -0.5
    if mask is not None:
        sim = sim.masked_fill(~mask.bool(), float("-inf"))
    attn = sim.softmax(dim=-1)
    out = torch.einsum("...qk,...kv->...qv", attn, V)
    return out, attn


if __name__ == "__main__":
    q = torch.randn(2, 5, 8)
    print(scaled_dot_product_attention(q, q, q)[0].shape)
