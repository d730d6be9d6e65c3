"""An accelerator where the machine has none: real numbers, a device's rules. Child side.

`install` once in the zygote, `emulate` around each call, `adopt` (or `to_device`, which copies) for its inputs,
`to_host` for its outputs. What it accepts and refuses, and where it differs from a real device, is
in `docs/devices.md`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _DummyPrivateUse1Hook,
    _setup_privateuseone_for_python_backend,
)

from grader.sandbox.accelerator_rules import NAME
from grader.sandbox.accelerator_tensor import Emulated, register
from grader.sandbox.accelerator_whole import whole

_OTHER_KINDS = ("cuda", "xpu", "mps", "hpu", "mtia")


def install() -> None:
    """Register the device with this process, for good. To be called before the first fork; again does nothing.

    Autograd starts a thread for each device it knows of at the first backward pass, and a process with threads must
    not fork. So a first backward pass is made here, while there is no device.
    """
    if _backend() is not None:
        return
    torch.zeros(1, requires_grad=True).sum().backward()  # type: ignore[no-untyped-call]  # the library has no annotations
    backend = _Backend()
    _setup_privateuseone_for_python_backend(NAME, backend, _Hook(backend))
    backend.kernels = register()
    with _without_distributed():
        Emulated(torch.zeros(1)).clone()


def to_device(tensor: Tensor, where: str = f"{NAME}:0") -> Tensor:
    """A copy of a CPU tensor on the device (the emulated one, or a real one such as "cuda:0").

    Strides, overlaps and `requires_grad` are those of the tensor; the memory is the copy's own.
    """
    memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.detach().untyped_storage())
    moved = memory.clone() if where.startswith(NAME) else memory.to(where)
    placed = moved.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
    return (Emulated(placed) if where.startswith(NAME) else placed).requires_grad_(tensor.requires_grad)


def adopt(tensor: Tensor) -> Tensor:
    """A plain CPU tensor as one on the emulated device: with its memory, which must not be anybody else's."""
    return Emulated(tensor)


def to_host(tensor: Tensor) -> Tensor:
    """The numbers as a plain CPU tensor, detached. Emulated and CPU tensors keep their strides and share memory."""
    return tensor.plain if isinstance(tensor, Emulated) else tensor.detach().cpu()


def is_emulated(tensor: Tensor) -> bool:
    """Whether the tensor is on the emulated device."""
    return isinstance(tensor, Emulated)


@contextmanager
def emulate() -> Iterator[None]:
    """Run code as on a machine whose accelerator is the emulated one, in one thread."""
    backend = _backend()
    if backend is None:
        raise RuntimeError("accelerator.install() has not been called in this process")
    before, backend.active = backend.active, True
    try:
        # Autograd would look for the device's thread; there is none, so it must stay on this one.
        with torch.autograd.set_multithreading_enabled(False), _Front():
            yield
    finally:
        backend.active = before


@contextmanager
def _without_distributed() -> Iterator[None]:
    """Keep the library from importing all of `torch.distributed.tensor` (500 modules, half a second).

    The first operator on any tensor class of one's own looks that package up, once in a process, to see whether the
    class is one of its own. An empty stand-in answers the question; afterwards the package can be imported as ever.
    """
    name = "torch.distributed.tensor"
    if name in sys.modules:
        yield
        return
    stand_in = types.ModuleType(name)
    stand_in.DTensor = type("DTensor", (), {})  # type: ignore[attr-defined]
    sys.modules[name] = stand_in
    try:
        yield
    finally:
        del sys.modules[name]


class _Backend(_DummyBackendModule):
    """What the library finds as `torch.gpu`."""

    def __init__(self) -> None:
        self.active = False
        self.kernels: Any = None

    def is_available(self) -> bool:
        return self.active

    # Random numbers come from the CPU's generator.

    def get_rng_state(self, device: Any = None) -> Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: Tensor, device: Any = None) -> None:
        torch.set_rng_state(state)

    def synchronize(self, device: Any = None) -> None:
        """Nothing runs behind the caller's back here."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16, torch.float32]


class _Hook(_DummyPrivateUse1Hook):
    def __init__(self, backend: _Backend) -> None:
        super().__init__()
        self._backend = backend

    def is_available(self) -> bool:
        return self._backend.active


def _backend() -> _Backend | None:
    found = getattr(torch, NAME, None)
    return found if isinstance(found, _Backend) else None


class _Front(TorchFunctionMode):
    """Sees devices that the code asks for by name, before the library looks for them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = False
        """The code has asked `is_cuda` and been told yes, so its "cuda" is not hard-coded."""
        self._special: dict[Any, Callable[..., Any]] = {
            Tensor.to: self._to,
            Tensor.cuda: self._cuda,
            Tensor.is_cuda.__get__: self._is_cuda,  # type: ignore[attr-defined]
        }

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("device") is not None:
            kwargs = {**kwargs, "device": self._named(kwargs["device"])}
        special = self._special.get(func)
        if special:
            return special(*args, **kwargs)
        result = whole(func, args, kwargs)
        return func(*args, **kwargs) if result is NotImplemented else result

    def _named(self, device: Any) -> Any:
        """The device that is meant. Refuses another kind of accelerator by name."""
        kind = str(device).partition(":")[0]
        if kind not in _OTHER_KINDS:
            return device
        if kind == "cuda" and self.asked:
            return torch.device(NAME, 0)
        raise RuntimeError(
            f"The code asks for the device {str(device)!r} by name, but its inputs are on another device ({NAME}:0). "
            f"Use the device of an input instead, for example Q.device."
        )

    def _is_cuda(self, tensor: Tensor) -> bool:
        self.asked = self.asked or isinstance(tensor, Emulated)
        return isinstance(tensor, Emulated)

    def _cuda(self, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return tensor.to(self._named("cuda"))

    def _to(self, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if args and isinstance(args[0], (str, torch.device)):
            args = (self._named(args[0]), *args[1:])
        return tensor.to(*args, **kwargs)
