"""The fake beside the real: a trusted Python function behind the sandbox's interface, in this very process.

For fast tests and for the audit, which runs hundreds of implementations of ours. Never for student code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader.call import Call, Invocation
from grader.entry import Found, Loaded
from grader.reading.source import Sources
from grader.sandbox import accelerator, wire
from grader.sandbox.calls import request, understand
from grader.sandbox.interface import Session
from grader.sandbox.invoke import Invoker, Placement


class FakeSandbox:
    """Opens the same function for whatever sources it is given."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        accelerator.install()

    def open(self, sources: Sources, *, whole: bool = False) -> FakeSession:
        return FakeSession(self.function)


class FakeSession(Session):
    """See `Session`. Requests and replies go through the same frames as the confined sandbox's."""

    output = ""
    layers: tuple[str, ...] = ()
    together = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        name = getattr(function, "__name__", "function")
        self.loaded = Loaded(entry=Found(name=name, kind="function", parameters=["?"], stub=False))
        self.invoker = Invoker(lambda name: self.function, Placement("emulated"))

    def calls(self, asked: Sequence[Invocation]) -> list[Call]:
        message, tensors, layouts = wire.parse(bytearray(request(asked, "")))
        replies = (self.invoker.reply(one, tensors, layouts) for one in message["calls"])
        return [understand(one, bytearray(reply)) for one, reply in zip(asked, replies, strict=True)]

    def close(self) -> None:
        """Nothing to end."""
