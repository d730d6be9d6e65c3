"""Values on the wire: what a function is given and what it returns, as plain JSON beside the tensors of a frame.

Bounded in both directions, like the frame: a node takes twenty times its bytes in the frame once it is a value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from grader.call import Foreign
from grader.sandbox.wire import Malformed, Packer, pick

MAX_NODES = 4096
MAX_DEPTH = 16
MAX_TEXT = 65536


class ValuePacker(Packer):
    """Collects the tensors of one outgoing frame while values are turned into plain JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes = 0

    def value(self, value: Any, depth: int = 0) -> Any:
        """`value` as JSON: numbers, strings and None as they are, everything else as a one-key object."""
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise Malformed("nested too deeply or too long")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value) if abs(value) < 2**53 else {"o": "int"}
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"f": repr(float(value))}
        if isinstance(value, str):
            return {"s": value[:MAX_TEXT].encode("utf-8", "replace").decode()}
        if isinstance(value, Tensor):
            return {"t": self.tensor(value)}
        if isinstance(value, Foreign):
            number = None if value.tensor is None else self.tensor(value.tensor)
            return {"o": value.type[:200].encode("utf-8", "replace").decode(), "t": number}
        if isinstance(value, tuple):
            return {"u": [self.value(item, depth + 1) for item in value]}
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {"d": [[str(key)[:200], self.value(item, depth + 1)] for key, item in value.items()]}
        return {"o": type(value).__name__[:200]}


def unpacked(packed: Any, tensors: Sequence[Tensor]) -> Any:
    """The reverse of `ValuePacker.value`. Raises Malformed for anything that it does not write."""
    return _unpacked(packed, tensors, iter(range(MAX_NODES)), 0)


def _unpacked(packed: Any, tensors: Sequence[Tensor], left: Iterator[int], depth: int) -> Any:
    """`left` has an item for each node that there may still be."""
    if depth > MAX_DEPTH or next(left, None) is None:
        raise Malformed("nested too deeply or too long")
    if packed is None or isinstance(packed, (bool, int, float)):
        return packed
    if isinstance(packed, list):
        return [_unpacked(item, tensors, left, depth + 1) for item in packed]
    if not isinstance(packed, dict):
        raise Malformed("unknown value")
    if len(packed) == 1 and "t" in packed:  # by far the most frequent
        return pick(tensors, packed["t"])
    match packed:
        case {"o": str(name), "t": int(index)}:
            return Foreign(name, pick(tensors, index))
        case {"o": str(name)}:
            return Foreign(name)
        case {"s": str(text)}:
            return text
        case {"f": "nan" | "inf" | "-inf" as number}:
            return float(number)
        case {"u": list(items)}:
            return tuple(_unpacked(item, tensors, left, depth + 1) for item in items)
        case {"d": list(pairs)}:
            return dict(_pair(pair, tensors, left, depth + 1) for pair in pairs)
    raise Malformed("unknown value")


def _pair(pair: Any, tensors: Sequence[Tensor], left: Iterator[int], depth: int) -> tuple[str, Any]:
    match pair:
        case [str(key), item]:
            return key, _unpacked(item, tensors, left, depth)
    raise Malformed("bad pair")
