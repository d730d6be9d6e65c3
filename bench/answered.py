"""Calls of functions that hold wrong ideas, computed by the bank itself: quicker than through a sandbox."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import torch
from torch import Tensor

from grader.call import Call, Failure
from grader.gradients import vjp
from grader.misconception import AFTER, ANSWER_DEVICE, Bank, doubled


def answered(bank: Bank, request: Call, knobs: dict[str, Any]) -> Call:
    """What the request gives under these settings of the knobs: numbers, failure, what is left behind, gradients."""
    inputs = {id(item): item.detach().clone().requires_grad_(item.requires_grad) for item in request.inputs}
    args = tuple(inputs.get(id(item), item) for item in request.args)
    kwargs = {key: inputs.get(id(item), item) for key, item in request.kwargs.items()}
    base = replace(request, failure=None, output=None, after=(), gradients=None)
    try:
        known = bank.values(args, kwargs, knobs, device=request.device)
        floating = [item for item in inputs.values() if item.is_floating_point()]
        values, directions = [known[name] for name in bank.returns], request.cotangents
        gradients = None if directions is None else vjp(values, floating, directions)
    except Exception as error:
        return replace(base, failure=Failure("exception", type(error).__name__, str(error)))
    after = [known.get(name + AFTER, value) for name, value in bank.bind(args, kwargs).items()]
    moved = known.get(ANSWER_DEVICE) == "cpu" and request.device == "gpu"
    layouts = tuple(msgspec.structs.replace(one, device="cpu") if moved else one for one in request.layouts)
    return replace(
        base,
        args=request.args,
        output=tuple(known[name].detach() for name in bank.returns),
        after=tuple(value.detach() for value in after if isinstance(value, Tensor)),
        gradients=gradients,
        layouts=layouts,
    )


def exact(request: Call) -> Call:
    """The same request in float64, in which only formulas differ and not their rounding."""
    args, kwargs = doubled((request.args, request.kwargs))
    return replace(request, args=args, kwargs=kwargs, cotangents=None)


def equal(left: Call, right: Call, room: float | None = None) -> bool:
    """The same answer up to rounding, the same things left behind, the same gradients, or both failed.

    `room`: relative and absolute; a few roundings without it.
    """
    if left.failure or right.failure:
        return bool(left.failure) and bool(right.failure)
    pairs = [*zip(left.output, right.output, strict=True), *zip(left.after, right.after, strict=True)]
    pairs += zip(left.gradients or (), right.gradients or (), strict=True)
    return left.layouts == right.layouts and all(_close(one, other, room) for one, other in pairs)


def _close(one: Tensor | None, other: Tensor | None, room: float | None) -> bool:
    if one is None or other is None:
        return one is other
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if room is None:
        room = 16 * torch.finfo(one.dtype).eps if one.is_floating_point() else 0.0
    return torch.allclose(one, other, room, room, equal_nan=True)


def settings(bank: Bank, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """All settings of knobs that these ideas may stand for, with each style."""
    forms = [(bank[name].knobs, *bank[name].also) for name in names]
    for chosen in itertools.product(*forms):
        for style in ({}, *bank.styles):
            yield {**style, **{key: value for knobs in chosen for key, value in knobs.items()}}


def reproduces(bank: Bank, knobs: dict[str, Any], calls: Sequence[Call]) -> bool:
    """Whether the settings give every number of the calls, looked at apart from the diagnosis and its tolerances."""
    for call in calls:
        got = answered(bank, call, knobs)
        if (got.failure is None) != (call.failure is None):
            return False
        if got.failure is None and call.failure is None:
            for mine, theirs in zip(got.output, call.output, strict=True):
                room = 2000 * torch.finfo(mine.dtype).eps
                if mine.shape != theirs.shape or not torch.allclose(mine, theirs, room, room, equal_nan=True):
                    return False
    return True
