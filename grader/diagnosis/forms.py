"""The form of an answer: which of the promised values it holds, and in what wrapping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from torch import Tensor

from grader.answers import form as in_words
from grader.call import Foreign

FormId = Literal["dict", "fewer_values", "lone_value", "more_values", "ndarray", "none", "other_form", "swapped"]
IDS: frozenset[str] = frozenset(get_args(FormId))
"""Those that `[conventions]` in assignment.toml may name, beside the assignment's own conventions."""


@dataclass(frozen=True)
class Form:
    """A recognised form that is not the promised one."""

    id: FormId
    words: str
    translate: Callable[[Any], Any]
    """The answer in the promised form, or as near to it as it can be brought."""
    adaptable: bool = True
    partial: int | None = None
    """The position of the one promised value that the answer holds, when it does not hold all of them."""


def recognise(output: Any, right: Sequence[Tensor], returns: Sequence[str]) -> Form | None:
    """How `output` differs in form from the promised values, or None when its form is right.

    Args:
        right: the reference's values for the same inputs, all of different shapes.
        returns: their names.
    A lone tensor is looked for first: with as many batch items as there are promised values it would unpack
    without a word.
    """
    promised = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    mend = f"End your function with: return {', '.join(returns)}."
    shapes = [tuple(value.shape) for value in right]
    if isinstance(output, Tensor):
        return None if len(returns) == 1 else _lone(output, shapes, returns, promised, mend)
    if output is None:
        words = f"Your function returns nothing (None) where {promised} is asked for. {mend}"
        return Form("none", words, _same, adaptable=False)
    if isinstance(output, Foreign) and output.tensor is not None and len(returns) == 1:
        return _arrays(promised)
    items = _items(output)
    if items is None:
        words = f"Your function returns {in_words(output)} where {promised} is asked for. {mend}"
        return Form("other_form", words, _same, adaptable=False)
    tensors = [_tensor(item) for item in items]
    found = [None if tensor is None else tuple(tensor.shape) for tensor in tensors]
    if isinstance(output, dict):
        words = f"Your function returns a dict where the plain values {promised} are asked for. {mend}"
        return _picking("dict", words, found, shapes)
    if len(items) != len(returns):
        words = f"Your function returns {len(items)} values where {len(returns)} are asked for: {promised}. {mend}"
        return _picking("more_values" if len(items) > len(returns) else "fewer_values", words, found, shapes)
    if any(isinstance(item, Foreign) for item in items) and None not in tensors:
        return _arrays(promised)
    if None in tensors:
        words = f"Your function should return {promised}, but it returns {in_words(output)}. {mend}"
        return Form("other_form", words, _same, adaptable=False)
    if found != shapes and sorted(found, key=str) == sorted(shapes, key=str):
        words = f"Your function returns the values in another order. {promised} is asked for. {mend}"
        return _picking("swapped", words, found, shapes)
    return None


def _lone(output: Tensor, shapes: Sequence[Any], returns: Sequence[str], promised: str, mend: str) -> Form:
    named = [name for name, shape in zip(returns, shapes, strict=True) if shape == tuple(output.shape)]
    only = f"only the {named[0]}" if len(named) == 1 else "a single tensor"
    words = f"Your function returns {only} where {promised} is asked for. {mend}"
    partial = returns.index(named[0]) if len(named) == 1 else 0
    return Form("lone_value", words, _same, adaptable=False, partial=partial)


def _arrays(promised: str) -> Form:
    words = (
        f"Your function returns NumPy arrays where tensors {promised} are asked for. Arrays can't hold gradients. "
        "Stay with tensors from the inputs to the result."
    )
    return Form("ndarray", words, lambda output: _from(_items(output), output))


def _from(items: list[Any] | None, output: Any) -> Any:
    return _tensor(output) if items is None else tuple(_tensor(item) for item in items)


def _picking(id: FormId, words: str, found: Sequence[Any], shapes: Sequence[Any]) -> Form:
    """A form from which the promised values can be picked by their shapes, if each of them is there just once."""
    if any(found.count(shape) != 1 for shape in shapes):
        return Form(id, words, _same, adaptable=False)
    places = [found.index(shape) for shape in shapes]

    def translate(output: Any) -> Any:
        items = _items(output)
        if items is None or len(items) != len(found):
            return output
        return tuple(_tensor(items[place]) for place in places)

    return Form(id, words, translate)


def _items(output: Any) -> list[Any] | None:
    if isinstance(output, (tuple, list)):
        return list(output)
    return list(output.values()) if isinstance(output, dict) else None


def _tensor(item: Any) -> Tensor | None:
    return item.tensor if isinstance(item, Foreign) else item if isinstance(item, Tensor) else None


def _same(output: Any) -> Any:
    return output
