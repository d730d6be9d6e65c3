"""The child's side of one call: place the inputs, run the function, pack what came of it. Tampering is expected.

Shared with the in-process fake, so that both speak the same frames.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from grader.call import Failure, Foreign, Layout
from grader.gradients import vjp
from grader.sandbox import accelerator, loader, ops, wire


class Placement:
    """Where tensors of a "gpu" call live: on the real accelerator, or on the emulated one."""

    def __init__(self, accelerator_name: str) -> None:
        self.real = "" if accelerator_name == "emulated" else accelerator_name

    def place(self, tensor: Tensor, device: str) -> Tensor:
        if device == "cpu":
            return tensor
        return accelerator.to_device(tensor, self.real) if self.real else accelerator.to_device(tensor)

    def fetch(self, tensor: Tensor) -> tuple[Tensor, str]:
        """(the tensor on the CPU, the device that it stands on)."""
        if accelerator.is_emulated(tensor):
            return accelerator.to_host(tensor), "gpu"
        if self.real and tensor.device.type == torch.device(self.real).type:
            return tensor.detach().cpu(), "gpu"
        return tensor, tensor.device.type

    @contextlib.contextmanager
    def on(self, device: str) -> Iterator[None]:
        if device == "cpu" or self.real:
            yield
            if self.real and device != "cpu":
                torch.accelerator.synchronize()
        else:
            with accelerator.emulate():
                yield


class Answer(wire.Packer):
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


def invoke(
    find: Callable[[], Callable[..., Any]],
    message: dict[str, Any],
    tensors: list[Tensor],
    layouts: list[Layout],
    placement: Placement,
) -> bytes:
    """Run one requested call (see `calls.request`) of the function that `find` gives; the reply as a frame."""
    device = message["device"]
    count = len(tensors) - len(message["cotangents"] or ())
    inputs = [
        placement.place(_own(tensor, layout), device).requires_grad_(layout.requires_grad)
        for tensor, layout in zip(tensors, layouts, strict=True)
    ]
    started = time.perf_counter()
    recorder = ops.Recorder()
    gradients: list[Tensor | None] | None = None
    try:
        args = wire.value(message["args"], inputs)
        kwargs = wire.value(message["kwargs"], inputs)
        with placement.on(device):
            function = find()
            with recorder:
                output = function(*args, **kwargs)
            if message["cotangents"] is not None:
                gradients = _gradients(output, inputs[:count], inputs[count:])
    except BaseException as error:
        return _failed(loader.describe(error), started)
    seconds = time.perf_counter() - started
    try:
        with torch.no_grad():
            sent = zip(inputs[:count], tensors, strict=False)
            changed = [tensor if _differs(placement.fetch(tensor)[0], before) else None for tensor, before in sent]
            return _answer(placement, output, changed, gradients, recorder, seconds)
    except BaseException as error:
        return _failed(Failure("malformed", type(error).__name__, str(error)[:500]), started)


def _own(tensor: Tensor, layout: Layout) -> Tensor:
    """A copy for the student to do with as it likes, laid out as the sender's; `tensor` stays as it was sent."""
    laid_out = wire.laid_out(tensor, layout.strides)
    return laid_out.clone() if laid_out is tensor else laid_out


def _differs(now: Tensor, before: Tensor) -> bool:
    """Whether a call changed this input. One with a NaN counts as changed: the marker looks at the numbers itself."""
    return now.shape != before.shape or now.dtype != before.dtype or not torch.equal(now, before)


def _failed(failure: Failure, started: float) -> bytes:
    seconds = time.perf_counter() - started
    return wire.Packer().frame({"failure": msgspec.to_builtins(failure), "seconds": seconds})


def _answer(
    placement: Placement,
    output: Any,
    changed: list[Tensor | None],
    gradients: list[Tensor | None] | None,
    recorder: ops.Recorder,
    seconds: float,
) -> bytes:
    answer = Answer(placement)
    packed = answer.value(output)
    outputs = len(answer.headers)

    def numbers(tensors: list[Tensor | None]) -> list[int | None]:
        return [None if tensor is None else answer.tensor(tensor) for tensor in tensors]

    return answer.frame(
        {
            "output": packed,
            "outputs": outputs,
            "after": numbers(changed),
            "gradients": None if gradients is None else numbers(gradients),
            "ops": recorder.ops,
            "largest": recorder.largest,
            "seconds": seconds,
        }
    )


def _gradients(output: Any, inputs: list[Tensor], cotangents: list[Tensor]) -> list[Tensor | None]:
    """Backward from the output's tensors (as many as there are cotangents) to each floating input."""
    values = output if isinstance(output, (tuple, list)) else (output,)
    pairs = [pair for pair in zip(values, cotangents, strict=False) if isinstance(pair[0], Tensor)]
    floating = [tensor for tensor in inputs if tensor.is_floating_point()]
    return list(vjp([value for value, _ in pairs], floating, [cotangent for _, cotangent in pairs]))
