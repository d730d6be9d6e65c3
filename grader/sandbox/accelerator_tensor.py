"""The tensor of the emulated accelerator: it says that it is on the device, and keeps its numbers on the CPU.

Below autograd every operator reaches `run`, which checks what a real device would check, computes with the
numbers, and wraps what came out. Operators on such a tensor come by way of its class; those that have none yet
(`torch.zeros(3, device=...)`) or that go round classes (the inside of `torch.tensor`) by way of `register`.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from grader.sandbox import accelerator_cells
from grader.sandbox.accelerator_rules import NAME, check_together, rule_of

_KEY = "PrivateUse1"  # the dispatcher's name for a device that is none of the library's own


class Emulated(Tensor):
    """A tensor on the emulated accelerator. Same shape, strides and dtype as `plain`, a plain CPU tensor."""

    plain: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]  # as the library says to

    @staticmethod
    def __new__(cls, inner: Tensor) -> Emulated:
        if torch.is_inference_mode_enabled() and not inner.is_inference():
            # A view of an ordinary tensor is an ordinary one even there, and autograd's bookkeeping needs it so.
            with torch.inference_mode(False):
                return Emulated(inner)
        outer: Emulated = Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=_device(),
        )
        outer.plain = inner
        return outer

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # the base is annotated without `func`
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return run(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # as the base, in one place
        with _disable_current_modes():
            text = repr(self.plain)
        return f"{text[:-1]}, device='{self.device}')"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                "at the moment."
            )
        made = Emulated(copy.deepcopy(self.plain, memo)).requires_grad_(self.requires_grad)
        memo[id(self)] = made
        return made

    def tolist(self) -> Any:
        return self.plain.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.plain.numpy(force=True)
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. "
            f"Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.numpy()


@functools.cache
def _device() -> torch.device:
    """There is one once it is registered."""
    return torch.device(NAME, 0)


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One operator as the device would run it. Raises RuntimeError in a real device's words where it would not."""
    rule = rule_of(func)
    if rule.composite:  # only in inference mode do these arrive whole; their parts have the rules
        return func.decompose(*args, **kwargs)
    if rule.name in accelerator_cells.CELLS:  # likewise
        return accelerator_cells.CELLS[rule.name](*args)
    if rule.name == "_copy_from":  # what copy_ becomes below the classes; the CPU knows no such operator
        func, args = torch.ops.aten.copy_.default, (args[1], args[0])
        return run(func, args, {})
    outer: dict[int, Emulated] = {}
    host: list[Tensor] = []
    plain_args = [_open(value, outer, host) for value in args]
    plain_kwargs = {key: _open(value, outer, host) for key, value in kwargs.items()} if kwargs else {}
    there = isinstance(args[0], Emulated) if rule.free else bool(outer)
    device = plain_kwargs.get("device")
    if device is not None:
        there = device.type == NAME
        if there:
            plain_kwargs["device"] = torch.device("cpu")
    if outer and host:
        check_together(func, rule, args, kwargs, host)
    result = func(*plain_args, **plain_kwargs)
    if not there:
        return result
    if rule.name == "_pack_padded_sequence":  # the sizes of the batches stay on the CPU
        return Emulated(result[0]), result[1]
    if not rule.writes:
        return _wrap(result, {})
    if rule.reshapes:
        for written in outer.values():
            _follow(written)
    return _wrap(result, {**outer, **{id(tensor): tensor for tensor in host}})


def wrapped(result: Tensor) -> Emulated:
    """A result of the CPU's as one of the device's."""
    return Emulated(_settled(result))


def register() -> list[Any]:
    """Make `run` the device's kernel for every operator. What is returned must live as long as the device."""
    everything = torch._C._dispatch_library("IMPL", "_", _KEY, __file__, 0)
    everything.fallback(_KEY, lambda func, *args, **kwargs: run(func, args, kwargs), False)
    # Where the library goes round classes, a fallback is not told which operator it stands for.
    inside = torch._C._dispatch_library("IMPL", "aten", _KEY, __file__, 0)
    for name in ("empty.memory_format", "empty_strided", "_copy_from", "_local_scalar_dense"):
        packet, _, overload = name.partition(".")
        func = getattr(getattr(torch.ops.aten, packet), overload or "default")
        inside.impl(name, _KEY, functools.partial(_run, func))
    autocast = torch._C._dispatch_library("IMPL", "_", f"Autocast{_KEY}", __file__, 0)
    autocast.fallback_fallthrough(f"Autocast{_KEY}")  # allowed, and casts nothing
    return [everything, inside, autocast, accelerator_cells.register()]


def _run(func: Any, *args: Any, **kwargs: Any) -> Any:
    return run(func, args, kwargs)


def _open(value: Any, outer: dict[int, Emulated], host: list[Tensor]) -> Any:
    """The plain value of an argument, noting which tensors were on the device and which on the CPU."""
    if isinstance(value, Emulated):
        outer[id(value.plain)] = value
        return value.plain
    if isinstance(value, Tensor):
        host.append(value)
    elif isinstance(value, (list, tuple)):
        return type(value)([_open(item, outer, host) for item in value])
    return value


def _wrap(result: Any, known: dict[int, Tensor]) -> Any:
    if isinstance(result, Tensor):
        if result.device.type != "cpu":
            return result
        return known[id(result)] if id(result) in known else wrapped(result)
    if isinstance(result, (list, tuple)):
        return type(result)([_wrap(item, known) for item in result])
    return result


def _settled(result: Tensor) -> Tensor:
    """The tensor with a pending conjugation or negation carried out: the wrapper could not say that there is one."""
    if result.layout != torch.strided:
        raise NotImplementedError("the emulated accelerator has no sparse tensors")
    if result.is_conj():
        return result.conj().conj_physical()  # conj() once more only takes the note off
    if result.is_neg():
        return result._neg_view().neg()
    return result


def _follow(outer: Emulated) -> None:
    """Make the shape and strides of the outer tensor those of the inner one again."""
    inner = outer.plain
    if outer.shape != inner.shape or outer.stride() != inner.stride():
        outer.data = Emulated(inner)
