"""The fake beside the real: a trusted Python function behind the sandbox's interface, in this very process.

For fast tests and for the audit, which runs hundreds of implementations of ours. Never for student code.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from torch import Tensor

from grader.call import Call
from grader.entry import Found, Loaded
from grader.reading.source import Sources
from grader.sandbox import accelerator, calls, wire
from grader.sandbox.invoke import Placement, invoke


class FakeSandbox:
    """Opens the same function for whatever sources it is given."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        accelerator.install()

    def open(self, sources: Sources, *, whole: bool = False) -> FakeSession:
        return FakeSession(self.function)


class FakeSession:
    """See `Session`. Requests and replies go through the same frames as the confined sandbox's."""

    output = ""
    layers: tuple[str, ...] = ()

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        name = getattr(function, "__name__", "function")
        self.loaded = Loaded(entry=Found(name=name, kind="function", parameters=["?"], stub=False))
        self.placement = Placement("emulated")

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        device: str = "cpu",
        cotangents: tuple[Tensor, ...] | None = None,
        function: str = "",
    ) -> Call:
        started = time.perf_counter()
        message, tensors, layouts = wire.parse(bytearray(calls.request(args, kwargs, device, cotangents, function)))
        got = wire.parse(bytearray(invoke(lambda: self.function, message, tensors, layouts, self.placement)))
        base = Call(args, kwargs, device, cotangents=cotangents, seconds=time.perf_counter() - started)
        return calls.understand(base, got)

    def close(self) -> None:
        """Nothing to end."""
