"""What a device refuses: which tensors may meet in one operator. The wording is the library's own.

The rules are those of CUDA: https://docs.pytorch.org/docs/stable/notes/cuda.html ("Cross-GPU operations are not
allowed by default, with the exception of copy_() and other methods with copy-like functionality"), and a CPU
tensor without dimensions counts as a number in elementwise operators.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import torch
from torch import Tensor

NAME = "gpu"
"""What the emulated accelerator's device is called: `torch.device("gpu", 0)`."""

# Operators that copy between devices, or read no more than sizes or numbers of tensors that are elsewhere. What they
# make is where their first argument is.
_FREE = frozenset(
    {"copy_", "copy", "fill", "fill_", "slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter"}
    | {"is_same_size", "resize_as_", "linspace", "logspace", "_pack_padded_sequence"}
)
_INDEXING = frozenset({"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"})
# Elementwise, though the library does not tag them so.
_ELEMENTWISE = frozenset({"floor_divide", "rsub", "copysign", "ldexp", "dist"})
# Where the one argument stands that counts as a number if it has no dimensions.
_VALUE_AT = {"masked_fill": 2, "masked_fill_": 2, "index_fill": 3, "index_fill_": 3}


@dataclass(frozen=True)
class Rule:
    """What `run` must know of an operator, worked out once."""

    name: str
    composite: bool
    """Made of other operators, which carry the rules."""
    writes: bool
    reshapes: bool
    """May change the shape or strides of a tensor that it writes."""
    free: bool
    indexing: bool
    elementwise: bool
    """A CPU tensor without dimensions counts as a number."""


@cache
def rule_of(func: Any) -> Rule:
    """The rule of an `OpOverload`."""
    name = func._schema.name.rpartition("::")[2]
    return Rule(
        name=name,
        composite=torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"),
        writes=func._schema.is_mutable,
        reshapes=torch.Tag.inplace_view in func.tags or torch.Tag.out in func.tags,
        free=name in _FREE,
        indexing=name in _INDEXING,
        elementwise=_is_elementwise(func, name),
    )


def _is_elementwise(func: Any, name: str) -> bool:
    base = name.removesuffix("_")
    if base in _ELEMENTWISE or torch.Tag.pointwise in func.tags:
        return True
    packet = getattr(torch.ops.aten, base, None)
    return packet is not None and any(
        torch.Tag.pointwise in getattr(packet, overload).tags for overload in packet.overloads()
    )


def check_together(func: Any, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], host: list[Tensor]) -> None:
    """Refuse what a device refuses when tensors of it meet CPU tensors (`host`). Raises RuntimeError."""
    if rule.free:
        return
    if rule.indexing:
        _check_indexing(args)
        return
    if rule.writes and any(written is not None and _is_host(written) for written in _written(func, args, kwargs)):
        _refuse(rule.name)
    if rule.name.startswith("masked_fill") and _is_host(args[1]):
        raise RuntimeError(
            f"expected self and mask to be on the same device, but got mask on {args[1].device} "
            f"and self on {args[0].device}"
        )
    numbers = host if rule.elementwise else []
    if rule.name in _VALUE_AT:
        numbers = [args[_VALUE_AT[rule.name]]]
    if any(tensor.dim() or not any(tensor is number for number in numbers) for tensor in host):
        _refuse(rule.name)


def _check_indexing(args: tuple[Any, ...]) -> None:
    target, indices = args[0], args[1]
    if _is_host(target):
        if any(isinstance(index, Tensor) and not _is_host(index) for index in indices):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        _refuse("index_put_")
    if len(args) > 2 and _is_host(args[2]) and args[2].dim():
        _refuse("index_put_")


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    found = []
    for position, argument in enumerate(func._schema.arguments):
        if argument.is_write:
            found.append(args[position] if position < len(args) else kwargs.get(argument.name))
    return found


def _is_host(value: Any) -> bool:
    return isinstance(value, Tensor) and value.device.type == "cpu"


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {NAME}:0 and cpu! (in {name})"
    )
