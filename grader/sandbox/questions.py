"""Calls that one submission after another may be asked: packed once, and the same answer is understood once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from grader.call import Call, Invocation, tensors
from grader.sandbox.calls import request, understand

KEPT_BYTES = 4 << 20
"""Bytes of replies for which what they say is kept: about seven ways to answer the attention checks."""


@dataclass(frozen=True)
class _Kept:
    """A call, and what its reply took on the wire."""

    call: Call
    size: int
    tensors: list[Tensor]
    versions: list[int]

    @classmethod
    def of(cls, call: Call, size: int) -> _Kept:
        found = tensors((call.output, call.after, call.gradients))
        return cls(call, size, found, [each._version for each in found])

    @property
    def intact(self) -> bool:
        """Whether no check has changed the answer in place since it came; torch counts such changes."""
        return self.versions == [each._version for each in self.tensors]


class Questions(tuple[Invocation, ...]):
    """Invocations, and what is kept of asking for them."""

    def __init__(self, asked: Iterable[Invocation]) -> None:
        self._packed: tuple[str, bytes] | None = None
        """The function's name, which hardly ever differs, and the frame."""
        self._kept: OrderedDict[tuple[int, bytes], _Kept] = OrderedDict()
        """(number of the question, digest of the reply) -> the call, the latest last."""
        self._bytes = 0

    @classmethod
    def of(cls, asked: Sequence[Invocation]) -> Questions:
        return asked if isinstance(asked, Questions) else cls(asked)

    def frame(self, function: str) -> bytes:
        """The request for these calls of `function`. Raises Malformed when they can't be sent."""
        if self._packed is None or self._packed[0] != function:
            self._packed = function, request(self, function)
        return self._packed[1]

    def answered(self, replies: Sequence[bytearray]) -> list[Call]:
        """The first of the invocations, each with what the child answered to it."""
        return [self._answered(number, reply) for number, reply in enumerate(replies)]

    def _answered(self, number: int, reply: bytearray) -> Call:
        key = number, hashlib.sha256(reply).digest()
        kept = self._kept.pop(key, None)
        self._bytes += 0 if kept else len(reply)
        if kept is None or not kept.intact:
            kept = _Kept.of(understand(self[number], reply, key[1]), len(reply))
        self._kept[key] = kept
        while self._bytes > KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size
        return kept.call
