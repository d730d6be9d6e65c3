"""The tensor of the emulated accelerator: it says that it is on the device, and keeps its numbers on the CPU.

Below autograd every operator reaches `run`, which checks what a real device would check, computes with the
numbers, and wraps what came out. Gradients, views and in-place operators need nothing of their own.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from grader.sandbox.accelerator_rules import NAME, Rule, check_device, check_together, rule_of


class Emulated(Tensor):
    """A tensor on the emulated accelerator. Same shape, strides and dtype as `inner`, a plain CPU tensor."""

    inner: Tensor

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: Tensor) -> Emulated:
        outer: Emulated = Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(NAME, 0),
        )
        outer.inner = inner
        return outer

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return run(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        with _disable_current_modes():
            text = repr(self.inner)
        return f"{text[:-1]}, device='{self.device}')"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
            )
        made = Emulated(copy.deepcopy(self.inner, memo)).requires_grad_(self.requires_grad)
        memo[id(self)] = made
        return made

    def tolist(self) -> Any:
        return self.inner.tolist()


class DeviceMode(TorchDispatchMode):
    """While entered, operators that create tensors on the device do so, which no tensor argument would tell."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if rule_of(func).composite:
            with self:
                return func.decompose(*args, **(kwargs or {}))
        return run(func, args, kwargs or {})


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One operator as the device would run it. Raises RuntimeError in a real device's words where it would not."""
    rule = rule_of(func)
    if rule.composite:  # only in inference mode do these arrive whole; their parts have the rules
        return func.decompose(*args, **kwargs)
    outer: dict[int, Emulated] = {}
    host: list[Tensor] = []
    plain_args = [_open(value, outer, host) for value in args]
    plain_kwargs = {key: _open(value, outer, host) for key, value in kwargs.items()} if kwargs else {}
    there = bool(outer)
    device = plain_kwargs.get("device")
    if device is not None:
        check_device(device)
        there = device.type == NAME
        if there:
            plain_kwargs["device"] = torch.device("cpu")
    if outer and host:
        check_together(func, rule, args, kwargs, host)
    result = func(*plain_args, **plain_kwargs)
    if not there and not outer:
        return result
    if rule.writes:
        if rule.reshapes:
            for written in outer.values():
                _follow(written)
        known: dict[int, Tensor] = {**outer, **{id(tensor): tensor for tensor in host}}
        return _wrap(result, known) if there else result
    return _wrap(result, {}) if there else result


def _open(value: Any, outer: dict[int, Emulated], host: list[Tensor]) -> Any:
    """The plain value of an argument, noting which tensors were on the device and which on the CPU."""
    if isinstance(value, Emulated):
        outer[id(value.inner)] = value
        return value.inner
    if isinstance(value, Tensor):
        host.append(value)
    elif isinstance(value, (list, tuple)):
        return type(value)([_open(item, outer, host) for item in value])
    return value


def _wrap(result: Any, known: dict[int, Tensor]) -> Any:
    if isinstance(result, Tensor):
        if result.device.type != "cpu":
            return result
        return known.get(id(result)) if id(result) in known else Emulated(result)
    if isinstance(result, (list, tuple)):
        return type(result)([_wrap(item, known) for item in result])
    return result


def _follow(outer: Emulated) -> None:
    """Make the shape and strides of the outer tensor those of the inner one again."""
    inner = outer.inner
    if outer.shape != inner.shape or outer.stride() != inner.stride():
        outer.data = Emulated(inner)


__all__ = ["DeviceMode", "Emulated", "Rule", "run"]
