"""Answers that took no work: what hidden checks must never pay for. Each is made from the reference alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Answer = tuple[Tensor, ...]
Function = Callable[..., Any]


def cheats(reference: Function) -> dict[str, Function]:
    """Name -> function, called and answering like `reference`, which returns a tensor or a tuple of tensors.

    An assignment adds its own in `solutions/<name>/cheats.py`, one public function each.
    """
    memory: dict[tuple[Any, ...], Any] = {}  # as long as the function lives, like a submission's

    def first_answer(*args: Any, **kwargs: Any) -> Any:
        key = tuple(item.shape if isinstance(item, Tensor) else item for item in (*args, *kwargs.values()))
        return memory.setdefault(key, reference(*args, **kwargs))

    found = {
        "zeros": _each(reference, torch.zeros_like),
        "ones": _each(reference, torch.ones_like),
        "a constant": _each(reference, lambda x: torch.full_like(x, 0.25)),
        "NaN everywhere": _each(reference, lambda x: torch.full_like(x, torch.nan)),
        "random numbers": _each(reference, torch.randn_like),
        "random rows that sum to 1": _each(reference, lambda x: torch.softmax(torch.randn_like(x), dim=-1)),
        "the mean of each row": _each(reference, lambda x: x.mean(-1, keepdim=True).expand_as(x).clone()),
        "the mean of each column": _each(reference, lambda x: x.mean(-2, keepdim=True).expand_as(x).clone()),
        "a copy of the first argument": _first_argument(reference),
        "the answer for other numbers": _on_others(reference),
        "the first answer for these shapes": first_answer,
    }
    if any(p.default is not p.empty for p in inspect.signature(reference).parameters.values()):
        found["the answer without the optional arguments"] = _without_optional(reference)
    return found


def _each(reference: Function, change: Callable[[Tensor], Tensor]) -> Function:
    """The reference with each returned tensor replaced."""

    def function(*args: Any, **kwargs: Any) -> Any:
        answer = reference(*args, **kwargs)
        return change(answer) if isinstance(answer, Tensor) else tuple(change(value) for value in answer)

    return function


def _first_argument(reference: Function) -> Function:
    """Its numbers, repeated or cut to the shape of each result."""

    def function(*args: Any, **kwargs: Any) -> Any:
        numbers = next(item for item in (*args, *kwargs.values()) if isinstance(item, Tensor)).reshape(-1)
        if not numbers.numel():
            return reference(*args, **kwargs)

        def filled(like: Tensor) -> Tensor:
            times = -(-like.numel() // numbers.numel())
            return numbers.repeat(times)[: like.numel()].reshape(like.shape).to(like.dtype)

        return _each(reference, filled)(*args, **kwargs)

    return function


def _on_others(reference: Function) -> Function:
    """The right answer to another question: the floating inputs are drawn anew."""

    def other(item: Any) -> Any:
        floating = isinstance(item, Tensor) and item.is_floating_point() and len(set(item.flatten().tolist())) > 2
        return torch.randn_like(item) if floating else item

    def function(*args: Any, **kwargs: Any) -> Any:
        return reference(*(other(item) for item in args), **{key: other(item) for key, item in kwargs.items()})

    return function


def _without_optional(reference: Function) -> Function:
    """What has a default is ignored."""
    parameters = inspect.signature(reference).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]

    def function(*args: Any, **kwargs: Any) -> Any:
        return reference(*args[: len(required)], **{key: kwargs[key] for key in kwargs if key in required})

    return function
