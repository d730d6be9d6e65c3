"""Whole attention functions for the device tests: right ones by different routes, and ones that break device rules."""

from __future__ import annotations

_HEAD = """
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
"""

RIGHT = {
    "plain": """
def attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights @ V, weights
""",
    "einsum, where and a mask of its own": """
def attention(Q, K, V, mask=None):
    if mask is None:
        mask = torch.ones(Q.size(-2), K.size(-2), device=Q.device, dtype=torch.bool)
    scores = torch.einsum("...qd,...kd->...qk", Q, K) * Q.shape[-1] ** -0.5
    scores = torch.where(mask.bool(), scores, torch.tensor(float("-inf"), device=Q.device, dtype=Q.dtype))
    weights = torch.softmax(scores, -1)
    return torch.einsum("...qk,...kd->...qd", weights, V), weights
""",
    "loops over everything": """
def attention(Q, K, V, mask=None):
    B, H, Tq, d = Q.shape
    Tk = K.shape[2]
    scores = torch.zeros(B, H, Tq, Tk, dtype=Q.dtype, device=Q.device)
    for b in range(B):
        for h in range(H):
            for i in range(Tq):
                for j in range(Tk):
                    scores[b, h, i, j] = (Q[b, h, i] * K[b, h, j]).sum() / d**0.5
                    if mask is not None and mask[i, j] == 0:
                        scores[b, h, i, j] = float("-inf")
    weights = torch.softmax(scores, dim=-1)
    output = Q.new_zeros(B, H, Tq, V.shape[-1])
    for i in range(Tq):
        output[:, :, i] = (weights[:, :, i, :, None] * V).sum(dim=2)
    return output, weights
""",
    "additive mask made on the CPU and moved": """
def attention(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.mT) / torch.sqrt(torch.tensor(K.size(-1)))
    if mask is not None:
        extra = torch.zeros(mask.shape)
        extra[mask.cpu() == 0] = -math.inf
        scores = scores + extra.to(Q)
    weights = scores.softmax(-1)
    return torch.matmul(weights, V), weights
""",
    "softmax by hand, in place": """
def attention(Q, K, V, mask=None):
    scores = (Q @ K.mT).div(math.sqrt(Q.size(-1)))
    if mask is not None:
        scores[~mask.bool().expand_as(scores)] = -1e4
    scores = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    weights = scores / scores.sum(-1, keepdim=True)
    if mask is not None:
        weights = weights * mask.to(weights.dtype)
    return torch.bmm(weights.flatten(0, 1), V.flatten(0, 1)).unflatten(0, Q.shape[:2]), weights
""",
    "blocks of keys": """
def attention(Q, K, V, mask=None):
    B, H, Tq, d = Q.shape
    best = torch.full((B, H, Tq, 1), -1e4, dtype=Q.dtype, device=Q.device)
    total, output, blocks = torch.zeros_like(best), torch.zeros(B, H, Tq, V.size(-1)).to(V), []
    for start in range(0, K.size(2), 2):
        scores = Q @ K[:, :, start : start + 2].mT / d**0.5
        if mask is not None:
            scores = scores.masked_fill(mask[..., start : start + 2] == 0, -1e4)
        new = torch.maximum(best, scores.amax(-1, keepdim=True))
        kept, shift = (scores - new).exp(), (best - new).exp()
        total = total * shift + kept.sum(-1, keepdim=True)
        output = output * shift + kept @ V[:, :, start : start + 2]
        best = new
        blocks.append(scores)
    weights = torch.cat([(scores - best).exp() / total for scores in blocks], dim=-1)
    return output / total, weights
""",
    "modules and buffers": """
class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("scale", torch.tensor(size**-0.5))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, Q, K, V, mask):
        scores = (Q @ K.transpose(2, 3)) * self.scale
        if mask is not None:
            scores += (1 - mask.to(scores.dtype)) * torch.finfo(scores.dtype).min
        weights = self.softmax(scores)
        return weights @ V, weights

def attention(Q, K, V, mask=None):
    return Attention(Q.size(-1)).to(Q.device)(Q, K, V, mask)
""",
    "asks is_cuda, and the accelerator": """
def attention(Q, K, V, mask=None):
    keep = torch.ones(Q.size(-2), K.size(-2))
    if Q.is_cuda:
        keep = keep.cuda()
    if Q.device.type != "cpu" and torch.accelerator.is_available():
        keep = keep.to(torch.accelerator.current_accelerator())
    keep = keep if mask is None else keep * mask
    scores = (Q @ K.mT / Q.size(-1) ** 0.5).masked_fill_(keep == 0, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ V, weights
""",
}

WRONG = {
    "a mask made on the CPU": """
def attention(Q, K, V, mask=None):
    scores = Q @ K.mT
    keep = torch.ones(Q.size(-2), K.size(-2)).tril()
    scores = scores.masked_fill(keep == 0, float("-inf"))  # here
    return scores @ V, scores
""",
    "a buffer made on the CPU": """
def attention(Q, K, V, mask=None):
    scores = torch.zeros(*Q.shape[:-1], K.size(-2))
    scores += Q @ K.mT  # here
    return scores @ V, scores
""",
    "numpy": """
def attention(Q, K, V, mask=None):
    scores = torch.from_numpy(np.matmul(Q.detach().numpy(), K.mT.detach().numpy()))  # here
    return scores @ V, scores
""",
    "the CPU by name": """
def attention(Q, K, V, mask=None):
    device = torch.device("cpu")
    scores = Q.to(device) @ K.mT.to(device)
    return scores @ V, scores  # here
""",
    "cuda by name": """
def attention(Q, K, V, mask=None):
    keep = torch.ones(Q.size(-2), K.size(-2), device="cuda")  # here
    scores = Q @ K.mT * keep
    return scores @ V, scores
""",
    "cuda by method": """
def attention(Q, K, V, mask=None):
    Q, K = Q.cuda(), K.cuda()  # here
    return Q @ K.mT @ V, Q @ K.mT
""",
    "cuda if the machine has it": """
def attention(Q, K, V, mask=None):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    keep = torch.ones(Q.size(-2), K.size(-2)).to(device)
    scores = Q @ K.mT * keep  # here
    return scores @ V, scores
""",
    "a module's constant that is not a buffer": """
class Attention(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.keep = torch.ones(length, length)

    def forward(self, Q, K, V):
        scores = Q @ K.mT * self.keep  # here
        return scores @ V, scores

def attention(Q, K, V, mask=None):
    return Attention(Q.size(-2)).to(Q.device)(Q, K, V)
""",
    "positions made on the CPU": """
def attention(Q, K, V, mask=None):
    scores = Q @ K.mT
    late = torch.arange(K.size(-2)) > torch.arange(Q.size(-2))[:, None]
    scores = torch.where(late, float("-inf"), scores)  # here
    return scores @ V, scores
""",
}

LEFT_ON_CPU = """
def attention(Q, K, V, mask=None):
    device, (Q, K, V) = Q.device, (Q.cpu(), K.cpu(), V.cpu())
    weights = (Q @ K.mT / Q.size(-1) ** 0.5).softmax(-1)
    return (weights @ V).to(device), weights
"""


def source(program: str) -> str:
    """A program as a student would hand it in."""
    return _HEAD + program
