"""The marker's side of one call: the request as a frame, and the reply as a `Call`. Nothing in a reply is trusted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from torch import Tensor

from grader.call import Call, Failure, Layout
from grader.sandbox import wire

Answer = tuple[dict[str, Any], list[Tensor], list[Layout]]


def request(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: str,
    cotangents: tuple[Tensor, ...] | None,
    function: str,
) -> bytes:
    """The frame that asks for `function(*args, **kwargs)` on `device`; with cotangents also for the gradients."""
    packer = wire.Packer()
    message: dict[str, Any] = {
        "function": function,
        "args": packer.value(args),
        "kwargs": packer.value(kwargs),
        "device": device,
    }
    message["cotangents"] = None if cotangents is None else [packer.tensor(tensor) for tensor in cotangents]
    return packer.frame(message)


def understand(base: Call, got: Answer) -> Call:
    """`base` with what the child answered, or with a "malformed" failure when that is no answer."""
    try:
        return _understood(base, got)
    except (wire.Malformed, msgspec.ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        return replace(base, failure=Failure("malformed", "", str(error)[:500]))


def _understood(base: Call, got: Answer) -> Call:
    message, tensors, layouts = got
    if "broken" in message:
        return replace(base, failure=Failure("malformed", "", "", trace=str(message["broken"])))
    if "failure" in message:
        return replace(base, failure=msgspec.convert(message["failure"], Failure))
    outputs = int(message["outputs"])
    # Only inputs that the call changed come back; each of the others is still what was sent.
    pairs = zip(base.inputs, message["after"], strict=True)
    after = tuple(sent if index is None else wire.pick(tensors, index) for sent, index in pairs)
    gradients = message["gradients"]
    if gradients is not None:
        gradients = tuple(None if index is None else wire.pick(tensors, index) for index in gradients)
    return replace(
        base,
        output=wire.value(message["output"], tensors[:outputs]),
        after=after,
        gradients=gradients,
        layouts=tuple(layouts[:outputs]),
        ops={str(name)[:200]: int(count) for name, count in message["ops"].items()},
        largest=int(message["largest"]),
    )
