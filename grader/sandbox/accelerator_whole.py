"""Functions of the library that the emulated accelerator computes as a whole, for far less than their parts cost.

A matrix product is six operators below autograd, and each of them is looked at, unwrapped and wrapped again. Where all
tensors of a call are on the device and no gradient is asked for, there is nothing to look at between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from grader.sandbox.accelerator_tensor import Emulated, wrapped

_NAMES = """
matmul __matmul__ __rmatmul__ mm bmm softmax log_softmax exp sum mean amax masked_fill where
add __add__ __radd__ sub __sub__ __rsub__ mul __mul__ __rmul__ div true_divide __truediv__ __rtruediv__ __div__
eq __eq__ ne __ne__ lt __lt__ le __le__ gt __gt__ ge __ge__ logical_not __invert__
"""
"""Each returns a new tensor made of its arguments' numbers, changes none, and has no state. No views: autograd keeps
account of them, and `einsum` gives nothing else."""

_WHOLE = frozenset(
    getattr(place, name) for place in (torch, Tensor, functional) for name in _NAMES.split() if hasattr(place, name)
)
_PLAIN = frozenset({int, float, bool, str, type(None), torch.dtype, tuple, list})
"""Types of arguments that are passed on. Sizes and dimensions come as tuples and lists; tensors in them do not."""


def whole(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function's result on the device; `NotImplemented` where its parts must be looked at one by one."""
    if func not in _WHOLE or _looked_at():
        return NotImplemented
    if "out" in kwargs or not (_there(args) and _there(kwargs.values())):
        return NotImplemented
    try:
        result = func(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})
    except Exception:
        return NotImplemented  # the parts say in their own words what is wrong
    return wrapped(result) if isinstance(result, Tensor) else NotImplemented  # `where` alone gives a tuple


def _looked_at() -> bool:
    """Whether something between the function and its operators follows these: another mode, a transform, a tracer."""
    return bool(
        torch.is_inference_mode_enabled()
        or torch._C._is_any_autocast_enabled()
        or torch._C._functorch.peek_interpreter_stack()
        or torch._C._get_tracing_state()
    )


def _there(values: Iterable[Any]) -> bool:
    """Whether all tensors among them are on the device and without a graph."""
    for value in values:
        kind = type(value)
        if kind is Emulated:
            if value.requires_grad:
                return False
        elif kind not in _PLAIN or (kind in (tuple, list) and any(isinstance(item, Tensor) for item in value)):
            return False
    return True


def _plain(value: Any) -> Any:
    return value.plain if type(value) is Emulated else value
