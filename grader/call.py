"""One invocation of the student's function and what it gave: data, never an object of the student's."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec
import torch
from torch import Tensor

from grader.errors import GraderFault
from grader.results import Place

Digests = tuple[bytes, ...]
"""Of the replies to several calls, in order."""


@dataclass(frozen=True)
class Foreign:
    """Stands in the answer for a value that is not a tensor, a number, a string, None or a nesting of these."""

    type: str
    tensor: Tensor | None = None
    """The numbers of a numpy array."""


@dataclass(frozen=True)
class Failure:
    """How a call ended without an answer."""

    kind: Literal["exception", "timeout", "memory", "output", "crash", "closed", "malformed"]
    type: str
    """Class name of the exception, or the signal's name."""
    message: str
    """The student's text: for staff and for explaining by kind, never shown from a hidden check."""
    place: Place | None = None
    """The innermost line of the student's own code."""
    trace: str = ""


def tensors(tree: Any) -> list[Tensor]:
    """The tensors in a nesting of tuples, lists and dicts, depth first."""
    found: list[Tensor] = []
    _gather(tree, found)
    return found


def _gather(tree: Any, found: list[Tensor]) -> None:
    if isinstance(tree, Tensor):
        found.append(tree)
    elif isinstance(tree, (tuple, list)):
        for item in tree:
            _gather(item, found)
    elif isinstance(tree, dict):
        for item in tree.values():
            _gather(item, found)


def numbers(tensor: Tensor) -> bytes:
    """The bytes of a CPU tensor's numbers, in the order of its indices.

    Raises TypeError where there are none to look at: in a sparse tensor, in one whose numbers are to be conjugated or
    negated first or stand for others (a quantised one's), and in one that has no memory.
    """
    standing_for_others = tensor.is_conj() or tensor.is_neg() or tensor.is_quantized
    if tensor.layout != torch.strided or not tensor.is_cpu or standing_for_others:
        raise TypeError(f"A {tensor.dtype} {tensor.layout} tensor on {tensor.device} has no numbers to look at.")
    dense = tensor.detach().contiguous()
    start = dense.data_ptr()
    if not start and dense.numel():
        raise TypeError("A tensor without memory has no numbers to look at.")
    return ctypes.string_at(start, dense.nbytes)


def copied(tree: Any) -> Any:
    """A nesting of tuples, lists and dicts with containers and tensors of its own, for whoever may write into them."""
    if isinstance(tree, Tensor):
        return tree.clone()
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [copied(item) for item in tree]
    if isinstance(tree, tuple):
        items = (copied(item) for item in tree)
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if isinstance(tree, Foreign):
        return replace(tree, tensor=copied(tree.tensor))
    return tree


@dataclass(frozen=True)
class Invocation:
    """What is asked of the student's process: the function on copies of these arguments."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"
    """"cpu" or "gpu"."""
    cotangents: tuple[Tensor, ...] | None = None
    """With them: forward, backward, and the gradients."""
    watched: bool = False
    """Whether the operators that run are counted, which costs half as much again as the call."""

    @functools.cached_property
    def inputs(self) -> list[Tensor]:
        """The tensors among args and kwargs in the order in which they are sent: depth first, args first."""
        return tensors((self.args, self.kwargs))


class Layout(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """How a tensor is laid out, beside its bytes. Stands like this in the header of a frame, so it is checked there."""

    device: str
    strides: tuple[int, ...]
    requires_grad: bool


@dataclass(frozen=True)
class Operators:
    """What ran while the function was watched, as the child reports it: advisory."""

    counts: dict[str, int]
    """Operator -> how often it ran."""
    largest: int
    """Elements of the largest tensor that an operator made."""


@dataclass(frozen=True)
class Call(Invocation):
    """One recorded invocation of the student's function. All tensors are plain CPU tensors of ours."""

    output: Any = None
    """Tree of tensors, numbers, strings, None, lists, tuples, dicts and Foreign; None when it failed."""
    failure: Failure | None = None
    after: tuple[Tensor, ...] = ()
    """The tensors among args and kwargs as the call left them, in the order they were sent."""
    gradients: tuple[Tensor | None, ...] | None = None
    """For a vjp: the gradient of each floating tensor that was sent, in order."""
    layouts: tuple[Layout, ...] = ()
    """Of the output's tensors, in order."""
    operators: Operators | None = None
    check: str = ""
    case: str = ""
    digest: bytes = b""
    """Of the reply, as it came over the wire: the same bits, the same digest. Empty when there was no reply."""

    @classmethod
    def of(cls, invocation: Invocation, **outcome: Any) -> Call:
        """What came of `invocation`: the other fields of a call."""
        return cls(
            invocation.args, invocation.kwargs, invocation.device, invocation.cotangents, invocation.watched, **outcome
        )

    def handed(self, asked: Invocation) -> Call:
        """This call for a check that asks the same with tensors of its own, and may write into whatever it gets."""
        inputs = zip(self.after, self.inputs, asked.inputs, strict=False)  # nothing is left after a failure
        return replace(
            self,
            args=asked.args,
            kwargs=asked.kwargs,
            cotangents=asked.cotangents,
            output=copied(self.output),
            after=tuple(own if left is sent else left.clone() for left, sent, own in inputs),
            gradients=copied(self.gradients),
        )

    @property
    def ops(self) -> dict[str, int]:
        """How often each operator ran. Raises GraderFault when nobody watched."""
        return self._watched().counts

    @property
    def largest(self) -> int:
        """Elements of the largest tensor that an operator made. Raises GraderFault when nobody watched."""
        return self._watched().largest

    def _watched(self) -> Operators:
        if self.operators is None:
            raise GraderFault("This call was not watched. Write @points(..., watched=True) above the check.")
        return self.operators
