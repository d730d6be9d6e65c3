"""Calls of functions that hold wrong ideas, computed by the bank itself: quicker than through a sandbox."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from grader.call import Call, Failure
from grader.gradients import vjp
from grader.misconception import AFTER, ANSWER_DEVICE, Bank


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
    layouts = tuple(replace(layout, device="cpu" if moved else layout.device) for layout in request.layouts)
    return replace(
        base,
        args=request.args,
        output=tuple(known[name].detach() for name in bank.returns),
        after=tuple(value.detach() for value in after if isinstance(value, Tensor)),
        gradients=gradients,
        layouts=layouts,
    )
