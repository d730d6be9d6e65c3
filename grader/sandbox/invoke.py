"""The child's side of calls: place the inputs, run the function, pack what came of it. Tampering is expected.

Shared with the in-process fake, so that both speak the same frames.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from grader.call import Failure, Foreign, Layout
from grader.gradients import vjp
from grader.sandbox import accelerator, loader, ops, values, wire


class Placement:
    """Where tensors of a "gpu" call live: on the real accelerator, or on the emulated one."""

    def __init__(self, accelerator_name: str) -> None:
        self.real = "" if accelerator_name == "emulated" else accelerator_name

    def place(self, tensor: Tensor, device: str) -> Tensor:
        """A tensor of ours on the device of a call; its memory goes with it where the device has none of its own."""
        if device == "cpu":
            return tensor
        return accelerator.to_device(tensor, self.real) if self.real else accelerator.adopt(tensor)

    def fetch(self, tensor: Tensor) -> tuple[Tensor, str]:
        """(the tensor on the CPU, the device that it stands on)."""
        if accelerator.is_emulated(tensor):
            return accelerator.to_host(tensor), "gpu"
        if self.real and tensor.device.type == torch.device(self.real).type:
            return tensor.detach().cpu(), "gpu"
        return tensor, tensor.device.type

    @contextlib.contextmanager
    def on(self, device: str) -> Iterator[None]:
        """A call inside runs on `device`; work that a real accelerator does on the side is done at the end."""
        if device == "cpu" or self.real:
            yield
            if self.real and device != "cpu":
                torch.accelerator.synchronize()
        else:
            with accelerator.emulate():
                yield


class _Reply(values.ValuePacker):
    """Packs what the student's function returned, wherever its tensors are."""

    def __init__(self, placement: Placement) -> None:
        super().__init__()
        self.placement = placement

    def tensor(self, tensor: Tensor, device: str = "cpu", requires_grad: bool | None = None) -> int:
        host, device = self.placement.fetch(tensor)
        return super().tensor(host, device, tensor.requires_grad)

    def value(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, np.ndarray):
            with contextlib.suppress(TypeError, ValueError):
                return super().value(Foreign("numpy.ndarray", torch.from_numpy(np.ascontiguousarray(value))), depth)
        if isinstance(value, np.generic):
            return super().value(Foreign("numpy number"), depth)
        return super().value(value, depth)


class Invoker:
    """Runs the calls of a request (see `calls.request`), each on tensors of its own."""

    def __init__(self, find: Callable[[str], Callable[..., Any]], placement: Placement) -> None:
        """`find` gives the function of that name."""
        self.find = find
        self.placement = placement

    def reply(self, asked: dict[str, Any], tensors: list[Tensor], layouts: list[Layout]) -> bytes:
        """Make one of the calls. The frame holds what came of it as it is now, whatever later calls do to it."""
        own = list(tensors)
        for number in (*asked["inputs"], *(asked["cotangents"] or ())):
            layout = layouts[number]
            copy = tensors[number].clone()  # for the student to do with as it likes; what was sent stays as it was
            own[number] = self.placement.place(laid_out(copy, layout.strides), asked["device"])
            if layout.requires_grad:
                own[number].requires_grad_()
        inputs = [own[number] for number in asked["inputs"]]
        watch = ops.Recorder() if asked["watched"] else None
        gradients: list[Tensor | None] | None = None
        try:
            args = values.unpacked(asked["args"], own)
            kwargs = values.unpacked(asked["kwargs"], own)
            with self.placement.on(asked["device"]):
                function = self.find(asked["function"])
                with watch or contextlib.nullcontext():
                    output = function(*args, **kwargs)
                if asked["cotangents"] is not None:
                    gradients = _gradients(output, inputs, [own[number] for number in asked["cotangents"]])
        except BaseException as error:
            return _failed(loader.describe(error))
        try:
            sent = zip(inputs, asked["inputs"], strict=True)
            changed = [item if self._changed(item, tensors[number]) else None for item, number in sent]
            return _packed(_Reply(self.placement), output, changed, gradients, watch)
        except BaseException as error:
            return _failed(Failure("malformed", type(error).__name__, str(error)[:500]))

    def _changed(self, tensor: Tensor, before: Tensor) -> bool:
        """Whether a call changed this input. One with a NaN counts as changed: the marker looks for itself."""
        now, _ = self.placement.fetch(tensor)
        return now.dtype != before.dtype or not torch.equal(now, before)


def laid_out(tensor: Tensor, strides: tuple[int, ...]) -> Tensor:
    """`tensor` with exactly these strides, so that a transposed or expanded view arrives as one. Raises Malformed."""
    if tensor.stride() == strides or tensor.numel() == 0:
        return tensor
    if 0 in strides:
        narrow = [slice(0, 1) if stride == 0 else slice(None) for stride in strides]
        return laid_out(tensor[tuple(narrow)], tuple(s or 1 for s in strides)).expand(tensor.shape)
    size = 1 + sum((length - 1) * stride for length, stride in zip(tensor.shape, strides, strict=True))
    if size > 4 * tensor.numel():
        raise wire.Malformed("strides that waste memory")
    fresh = torch.zeros(size, dtype=tensor.dtype).as_strided(tensor.shape, strides)
    return fresh.copy_(tensor)


def _failed(failure: Failure) -> bytes:
    return wire.Packer().frame({"failure": msgspec.to_builtins(failure)})


def _packed(
    reply: _Reply,
    output: Any,
    changed: list[Tensor | None],
    gradients: list[Tensor | None] | None,
    watch: ops.Recorder | None,
) -> bytes:
    packed = reply.value(output)
    outputs = len(reply.headers)

    def numbers(tensors: list[Tensor | None]) -> list[int | None]:
        return [None if tensor is None else reply.tensor(tensor) for tensor in tensors]

    message = {
        "output": packed,
        "outputs": outputs,
        "after": numbers(changed),
        "gradients": None if gradients is None else numbers(gradients),
        "ops": watch and watch.ops,
        "largest": watch and watch.largest,
    }
    return reply.frame(message)


def _gradients(output: Any, inputs: list[Tensor], cotangents: list[Tensor]) -> list[Tensor | None]:
    """Backward from the output's tensors (as many as there are cotangents) to each floating input."""
    values = output if isinstance(output, (tuple, list)) else (output,)
    pairs = [pair for pair in zip(values, cotangents, strict=False) if isinstance(pair[0], Tensor)]
    floating = [tensor for tensor in inputs if tensor.is_floating_point()]
    return list(vjp([value for value, _ in pairs], floating, [cotangent for _, cotangent in pairs]))
