import torch
from torch import Tensor


def softmax(x: Tensor) -> Tensor:
    """My own softmax, with the maximum taken off so that exp does not overflow."""
    x = x - x.max(dim=-1, keepdim=True).values
    e = torch.exp(x)
    return e / e.sum(dim=-1, keepdim=True)


def scaled_dot_product_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None):
    scores = (Q / Q.size(-1) ** 0.5) @ K.mT
    if mask is not None:
        minus_inf = torch.tensor(float("-inf"), dtype=scores.dtype, device=scores.device)
        scores = torch.where(mask != 0, scores, minus_inf)
    weights = softmax(scores)
    return weights @ V, weights
