"""What nearly every student's process does, done once in the zygote: a fork inherits what the first time finds out.

Kernels are looked up, operators get their rules on the emulated accelerator, types are taken apart. In a child each of
these costs not only its time but a private copy of every page of memory that it writes to.
"""

from __future__ import annotations

import msgspec
import torch

from grader.call import Invocation
from grader.entry import Entry, Unit
from grader.sandbox import calls, confine, loader, wire
from grader.sandbox.invoke import Invoker, Placement

SOURCE = """
import torch

def rehearse(x, hidden):
    y = x @ x.transpose(-2, -1) / x.size(-1) ** 0.5
    y = torch.softmax(y.masked_fill(hidden == 0, float("-inf")), dim=-1)
    z = torch.where(hidden == 0, y, y.exp() / y.exp().sum(-1, keepdim=True))
    return torch.einsum("bij,bjk->bik", z, x), y
"""
ENTRY = Entry(function="rehearse", arguments=["x", "hidden"], returns=["z", "y"])


def rehearse(placement: Placement) -> None:
    """Load a made-up submission, call its function wherever calls go, and forget it again."""
    msgspec.convert({}, confine.Policy)
    units = msgspec.convert([msgspec.to_builtins(Unit("rehearsal.py", None, SOURCE))], list[Unit])
    loaded, namespace = loader.load(units, {}, msgspec.convert(msgspec.to_builtins(ENTRY), Entry), [])
    msgspec.to_builtins(loaded)
    x, hidden = torch.randn(2, 3, 4), torch.ones(3, 3).tril()
    asked = [
        Invocation((x.clone().requires_grad_(), hidden), cotangents=(torch.ones(2, 3, 4), torch.ones(2, 3, 3))),
        Invocation((x, hidden.bool()), watched=True),
    ]
    if not placement.real:  # a real one must not be started before a fork
        asked.append(Invocation((x, hidden), device="gpu"))
    message, tensors, layouts = wire.parse(bytearray(calls.request(asked, ENTRY.function)))
    invoker = Invoker(namespace.function, placement)
    for one in message["calls"]:
        invoker.reply(one, tensors, layouts)
    namespace.release()
