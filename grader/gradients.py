"""Gradients along given directions, without the half second that torch's own `grad_outputs` costs at first use.

`torch.autograd.grad(..., grad_outputs=...)` imports a symbolic algebra package to compare two shapes. The gradient of
the inner product of values and cotangents is the same number, and starts from a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def vjp(values: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """Vector-Jacobian product: d(sum of values . cotangents) / d(each input), None where no graph leads there.

    `values` and `cotangents` pair up and have equal shapes. Raises RuntimeError when a pair does not fit.
    """
    pairs = [(value, cotangent) for value, cotangent in zip(values, cotangents, strict=False) if value.requires_grad]
    if any(value.shape != cotangent.shape for value, cotangent in pairs):
        raise RuntimeError("a returned value does not have the shape that its gradient is asked for in")
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    if not pairs or not wanted:
        return tuple(None for _ in inputs)
    total = torch.stack([(value * cotangent).sum() for value, cotangent in pairs]).sum()
    found = iter(torch.autograd.grad(total, wanted, allow_unused=True))
    return tuple(next(found) if tensor.requires_grad else None for tensor in inputs)
