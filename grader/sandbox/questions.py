"""Calls that one submission after another may be asked: packed once, and the same answer is understood once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from grader.call import Call, Invocation
from grader.sandbox.calls import request, understand

KEPT_BYTES = 4 << 20
"""Bytes of replies for which what they say is kept, for each set of questions: seven answers to attention's checks."""


class Questions(tuple[Invocation, ...]):
    """Invocations, and what is kept of asking for them."""

    def __init__(self, asked: Iterable[Invocation]) -> None:
        self._packed: tuple[str, bytes] | None = None
        """The function's name, which hardly ever differs, and the frame."""
        self._kept: OrderedDict[tuple[int, bytes], tuple[Call, int]] = OrderedDict()
        """(number of the question, digest of the reply) -> the call and the reply's bytes, the latest last."""
        self._bytes = 0

    @classmethod
    def of(cls, asked: Sequence[Invocation]) -> Questions:
        """`asked` itself where it is such already, with what is kept of it."""
        return asked if isinstance(asked, Questions) else cls(asked)

    def frame(self, function: str) -> bytes:
        """The request for these calls of `function`. Raises Malformed when they can't be sent."""
        if self._packed is None or self._packed[0] != function:
            self._packed = function, request(self, function)
        return self._packed[1]

    def answered(self, replies: list[bytearray]) -> list[Call]:
        """The first of the invocations, each with what the child answered to it. Others may get the very same calls, so
        a check gets its own (`Call.handed`). Takes the replies out of the list: they may be large."""
        made: list[Call] = []
        while replies:
            made.append(self._answered(len(made), replies.pop(0)))
        return made

    def _answered(self, number: int, reply: bytearray) -> Call:
        key = number, hashlib.sha256(reply).digest()
        kept = self._kept.pop(key, None)
        if kept is None:
            kept = understand(self[number], reply, key[1]), len(reply)
            self._bytes += len(reply)
        self._kept[key] = kept
        while self._bytes > KEPT_BYTES:
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size
        return kept[0]
