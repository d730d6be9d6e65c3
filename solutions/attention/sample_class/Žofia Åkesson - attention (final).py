import torch

# hotovo! (jag hoppas det är rätt)


def scaled_dot_product_attention(Q, K, V, mask=None):
    skóre = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
    if mask is not None:
        skóre = skóre.masked_fill(mask == 0, float("-inf"))
    váhy = torch.softmax(skóre, dim=-1)
    return váhy @ V, váhy
