"""The same few mistakes in many spellings of everything around them: a harmless spelling must not hide a mistake.

A spelling replaces one part of a plain solution by another that is right as well. A mistake replaces another part,
or the same one, where the spelling leaves room for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

PLAIN: Mapping[str, str] = MappingProxyType(
    {
        "size": "Q.size(-1)",
        "root": "math.sqrt({size})",
        "product": "Q @ K.transpose(-2, -1)",
        "divisor": "{root}",
        "scaled": "scores / {divisor}",
        "masked": 'scores.masked_fill({hidden}, float("-inf"))',
        "hidden": "mask == 0",
        "softmax": "torch.softmax(scores, dim={dim})",
        "dim": "-1",
        "late": "weights",
        "mixed": "weights @ V",
    }
)
"""The parts of a right solution. A name in braces stands for another part."""
FUNCTION = """
def attention(Q, K, V, mask=None):
    scores = {product}
    scores = {scaled}
    if mask is not None:
        scores = {masked}
    weights = {softmax}
    if mask is not None:
        weights = {late}
    return {mixed}, weights
"""

IDEAS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "mask_ignored": {"masked": "scores"},
        "filled_with_zero": {"masked": "scores * mask"},
        "mask_inverted": {"hidden": "mask != 0"},
        "masked_after_softmax": {"masked": "scores", "late": "weights * mask"},
        "softmax_over_queries": {"dim": "-2"},
        "scaled_by_dk": {"divisor": "({root} * {root})"},
        "scaled_by_key_count": {"size": "K.size(-2)"},
        "not_scaled": {"divisor": "1"},
    }
)
"""Id in the bank -> the parts in which the mistake shows."""

SPELLINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "plain": {},
        "root of a tensor": {"root": "torch.sqrt(torch.tensor({size}))"},
        "root of a float tensor": {"root": "torch.sqrt(torch.tensor(float({size})))"},
        "root of a float32 tensor": {"root": "torch.tensor({size}, dtype=torch.float32).sqrt()"},
        "item of a root": {"root": "torch.sqrt(torch.tensor({size})).item()"},
        "root in a tensor": {"root": "torch.tensor(math.sqrt({size}))"},
        "power of a tensor": {"root": "torch.tensor({size}) ** 0.5"},
        "math.sqrt of a tensor": {"root": "math.sqrt(torch.tensor({size}))"},
        "np.sqrt": {"root": "np.sqrt({size})"},
        "np.sqrt of a tensor": {"root": "np.sqrt(torch.tensor(float({size})))"},
        "np.float32": {"root": "np.sqrt(np.float32({size}))"},
        "inverse root of a tensor": {"root": "(1 / torch.tensor({size}) ** -0.5)"},
        "times the inverse root": {"scaled": "scores * torch.rsqrt(torch.tensor(float({divisor})) ** 2)"},
        "times one over the root": {"scaled": "scores * (1 / torch.tensor({divisor}))"},
        "dtype of the inputs": {"root": "torch.sqrt(torch.tensor({size}, dtype=Q.dtype))"},
        "scaled queries": {"product": "(Q / ({divisor})) @ K.transpose(-2, -1)", "scaled": "scores"},
        "scaled queries, tensor": {
            "product": "(Q / ({divisor})) @ K.transpose(-2, -1)",
            "scaled": "scores",
            "root": "torch.sqrt(torch.tensor({size}))",
        },
        "softmax in float32": {"softmax": "torch.softmax(scores.float(), dim={dim}).to(Q.dtype)"},
        "softmax with a dtype": {"softmax": "F.softmax(scores, dim={dim}, dtype=torch.float32).type_as(Q)"},
        "softmax in float64": {"softmax": "torch.softmax(scores.double(), dim={dim}).to(Q.dtype)"},
        "fill with -1e9": {"masked": "scores.masked_fill({hidden}, -1e9)"},
        "fill with the smallest": {"masked": "scores.masked_fill({hidden}, torch.finfo(scores.dtype).min)"},
        "logical_not": {"hidden": "torch.logical_not(mask)"},
        "~bool": {"hidden": "~mask.bool()"},
        "where": {"masked": 'torch.where({hidden}, float("-inf"), scores)'},
        "where, -1e9": {"masked": "torch.where({hidden}, torch.tensor(-1e9, dtype=Q.dtype), scores)"},
        "added": {"masked": "scores + ({hidden}).to(Q.dtype) * -1e4"},
        "einsum": {
            "product": 'torch.einsum("...qd,...kd->...qk", Q, K)',
            "mixed": 'torch.einsum("...qk,...kd->...qd", weights, V)',
        },
        "exp over sum, shifted": {
            "softmax": "(e := torch.exp(scores - scores.max(dim={dim}, keepdim=True).values)) / e.sum({dim}, True)"
        },
        "exp over sum, epsilon": {
            "softmax": "(e := torch.exp(scores - scores.amax({dim}, True))) / (e.sum({dim}, True) + 1e-9)"
        },
        "exp over sum, larger epsilon": {
            "softmax": "(e := torch.exp(scores - scores.amax({dim}, True))) / (e.sum({dim}, True) + 1e-8)"
        },
        "bmm": {
            "product": "torch.bmm(Q.reshape(-1, *Q.shape[-2:]), K.reshape(-1, *K.shape[-2:]).transpose(1, 2))"
            ".view(*Q.shape[:-1], K.size(-2))",
            "mixed": "torch.bmm(weights.reshape(-1, *weights.shape[-2:]), V.reshape(-1, *V.shape[-2:]))"
            ".view(*Q.shape[:-1], V.size(-1))",
        },
        "contiguous": {"product": "Q.contiguous() @ K.transpose(-2, -1).contiguous()"},
        "nan_to_num": {"softmax": "torch.nan_to_num(torch.softmax(scores, dim={dim}))"},
        "log_softmax": {"softmax": "torch.log_softmax(scores, dim={dim}).exp()"},
        "root of a tensor, -1e9": {
            "root": "torch.sqrt(torch.tensor({size}))",
            "masked": "scores.masked_fill({hidden}, -1e9)",
        },
        "root of a tensor, softmax in float32": {
            "root": "torch.sqrt(torch.tensor({size}))",
            "softmax": "torch.softmax(scores.float(), dim={dim}).to(Q.dtype)",
        },
    }
)
"""Words -> the parts in which the spelling differs from the plain one. All of them are right, but for a softmax in
float32, which is not exact enough where the inputs are float64."""


def spelled(spelling: str, idea: str | None = None) -> Callable[..., Any]:
    """The function in this spelling, with this mistake or, without one, right."""
    parts = {**PLAIN, **SPELLINGS[spelling], **(IDEAS[idea] if idea else {})}
    source = FUNCTION
    while "{" in source:
        source = source.format(**parts)
    namespace: dict[str, Any] = {"math": math, "np": np, "torch": torch, "F": F}
    exec(source, namespace)
    function: Callable[..., Any] = namespace["attention"]
    return function
