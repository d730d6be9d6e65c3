"""The marker's side of calls: requests as a frame, and the reply as `Call`s. Nothing in a reply is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from torch import Tensor

from grader.call import Call, Failure, Invocation, Layout, Operators
from grader.sandbox import values, wire


class _Request(values.ValuePacker):
    """Packs several invocations into one frame. What they share is sent once."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: dict[tuple[int, int], int] = {}
        self._own: list[tuple[int, int]] = []
        """Which tensors belong to the invocation in hand, in order."""

    def tensor(self, tensor: Tensor, device: str = "cpu", requires_grad: bool | None = None) -> int:
        time = sum(other == id(tensor) for other, _ in self._own)
        self._own.append((id(tensor), time))  # given twice in one invocation, it must arrive as two
        if self._own[-1] not in self._sent:
            self._sent[self._own[-1]] = super().tensor(tensor, device, requires_grad)
        return self._sent[self._own[-1]]

    def invocation(self, asked: Invocation, function: str) -> dict[str, Any]:
        self._own = []
        return {
            "function": function,
            "args": self.value(asked.args),
            "kwargs": self.value(asked.kwargs),
            "inputs": [self._sent[own] for own in self._own],
            "cotangents": None if asked.cotangents is None else [self.tensor(each) for each in asked.cotangents],
            "device": asked.device,
            "watched": asked.watched,
        }


def request(asked: Sequence[Invocation], function: str) -> bytes:
    """The frame that asks for these calls of `function`, in order. Raises Malformed when they can't be sent."""
    packer = _Request()
    return packer.frame({"calls": [packer.invocation(invocation, function) for invocation in asked]})


def understand(asked: Invocation, reply: bytearray, digest: bytes = b"") -> Call:
    """The invocation with what the child answered, or with a "malformed" failure when that is no answer.

    `digest`: of the reply, for who compares replies.
    """
    try:
        message, tensors, layouts = wire.parse(reply)
        if "broken" in message:
            return Call.of(asked, failure=Failure("malformed", "", "", trace=str(message["broken"])), digest=digest)
        return _understood(asked, message, tensors, layouts, digest)
    except (wire.Malformed, msgspec.ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        return Call.of(asked, failure=Failure("malformed", "", str(error)[:500]), digest=digest)


def _understood(
    asked: Invocation, reply: dict[str, Any], tensors: list[Tensor], layouts: list[Layout], digest: bytes
) -> Call:
    if "failure" in reply:
        return Call.of(asked, failure=msgspec.convert(reply["failure"], Failure), digest=digest)
    # Only inputs that the call changed come back; each of the others is still what was sent.
    pairs = zip(asked.inputs, reply["after"], strict=True)
    after = tuple(sent if index is None else wire.pick(tensors, index) for sent, index in pairs)
    gradients = reply["gradients"]
    if gradients is not None:
        gradients = tuple(None if index is None else wire.pick(tensors, index) for index in gradients)
    ops = reply["ops"]
    return Call.of(
        asked,
        output=values.unpacked(reply["output"], tensors),
        after=after,
        gradients=gradients,
        layouts=tuple(layouts[: int(reply["outputs"])]),
        operators=None if ops is None else _operators(ops, int(reply["largest"])),
        digest=digest,
    )


def _operators(ops: Any, largest: int) -> Operators:
    if len(ops) > values.MAX_NODES:
        raise wire.Malformed("too many operators")
    return Operators({str(name)[:200]: int(count) for name, count in ops.items()}, largest)
