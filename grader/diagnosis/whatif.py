"""What a recorded call would have given under any set of wrong ideas: answer, failure, gradients, bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.call import Call, Failure
from grader.diagnosis import crashes
from grader.diagnosis.catalogue import Catalogue
from grader.diagnosis.values import Values
from grader.gradients import vjp
from grader.misconception import doubled

Bounds = Callable[..., "tuple[Tensor, ...] | Tensor"]
"""Inputs -> for each returned value, how far off any correct order of operations may be."""


class WhatIf(Values):
    """A call of the student's, recorded, with everything that the bank computes for it."""

    def __init__(self, catalogue: Catalogue, call: Call, bounds: Bounds | None) -> None:
        bank = catalogue.bank
        arguments = bank.bind(call.args, call.kwargs)
        super().__init__(catalogue, arguments, call.device, _returned(call, bank.returns))
        self.call, self.bounds = call, bounds
        self._gradients: dict[int, tuple[Tensor | None, ...] | Exception] = {}
        self._limits: dict[str, np.ndarray[Any, Any]] | None = None

    def answered(self, call: Call, bounds: Bounds | None) -> WhatIf:
        """The same inputs with a student's answer. What does not depend on the answer is computed only once."""
        other = WhatIf(self.catalogue, call, bounds)
        other.adopt(self)
        return other

    @property
    def known(self) -> bool:
        """Whether the call shows anything: an answer in the promised form, or a failure."""
        return bool(self.seen) or self.call.failure is not None

    def error(self, chosen: int) -> Exception | None:
        """How the call ends under the set, if not with an answer."""
        if self.call.cotangents is not None:
            got = self.gradients(chosen)  # some steps fail only where gradients are recorded
            return got if isinstance(got, Exception) else None
        plans = self.catalogue.plans  # where no item can reach, there is no error: the reference makes none
        ends = [name for name in self.catalogue.ends if not chosen or chosen & plans[name].upstream]
        nodes = [self.node(name, chosen) for name in ends]
        failed = [node for node in nodes if node.error is not None]
        return min(failed, key=lambda node: node.slot).error if failed else None

    def alike(self, one: int, other: int, least: float = 0.0) -> bool:
        """Whether this call can't tell the two sets apart, where a rounding is `least` at least."""
        self.share()
        errors = self.error(one), self.error(other)
        if any(errors):
            families = [
                error and crashes.family(Failure("exception", type(error).__name__, str(error))) for error in errors
            ]
            return families[0] == families[1]
        names = self.catalogue.bank.returns
        return all(_close(self.node(name, one).value, self.node(name, other).value, least) for name in names)

    def gradients(self, chosen: int) -> tuple[Tensor | None, ...] | Exception:
        """Of each floating tensor that was sent, None where the graph does not reach it; or how that failed."""
        if chosen not in self._gradients:
            try:
                self._gradients[chosen] = self._backward(chosen)
            except Exception as error:
                self._gradients[chosen] = error
        return self._gradients[chosen]

    def _backward(self, chosen: int) -> tuple[Tensor | None, ...]:
        bank, call = self.catalogue.bank, self.call
        with torch.inference_mode(False), torch.enable_grad():
            leaves = {id(tensor): tensor.detach().clone() for tensor in call.inputs}
            for tensor in call.inputs:
                leaves[id(tensor)].requires_grad_(tensor.requires_grad)
            args = tuple(leaves.get(id(item), item) for item in call.args)
            kwargs = {key: leaves.get(id(item), item) for key, item in call.kwargs.items()}
            known = bank.values(args, kwargs, self.catalogue.all_knobs(chosen), device=call.device, seen=self.seen)
            values = [known[name] for name in bank.returns]
            floating = [leaf for leaf in leaves.values() if leaf.is_floating_point()]
            return vjp(values, floating, call.cotangents or ())

    def limits(self, name: str) -> np.ndarray[Any, Any]:
        """Derived bounds of the reference's error in this returned value; 0 where there is none."""
        if self._limits is None:
            self._limits = {}
            if self.bounds is not None:
                args = (item.detach() if isinstance(item, Tensor) else item for item in self.call.args)
                try:
                    found = self.bounds(*args, **self.call.kwargs)
                except (ValueError, RuntimeError, IndexError, TypeError):  # no bound holds for such inputs
                    return np.zeros(())
                values = (found,) if isinstance(found, Tensor) else found
                for key, value in zip(self.catalogue.bank.returns, values, strict=False):
                    self._limits[key] = value.double().nan_to_num(0.0, 0.0).numpy()
        return self._limits.get(name, np.zeros(()))

    def exact(self, name: str, chosen: int) -> Tensor | None:
        """The value in float64: how far the bank's own rounding is off shows how far another's may be."""
        bank, call = self.catalogue.bank, self.call
        args, kwargs = doubled((call.args, call.kwargs))
        try:
            known = bank.values(args, kwargs, self.catalogue.all_knobs(chosen), device=call.device, seen=self.seen)
        except Exception:
            return None
        value = known[name]
        return value if isinstance(value, Tensor) else None


def _returned(call: Call, names: tuple[str, ...]) -> dict[str, Tensor]:
    """The returned tensors by name; a lone tensor counts as the first. Empty when the answer has another form."""
    output = (call.output,) if isinstance(call.output, Tensor) else call.output
    if call.failure is not None or not isinstance(output, (tuple, list)) or len(output) not in (1, len(names)):
        return {}
    if not all(isinstance(value, Tensor) for value in output):
        return {}
    return {name: value.detach() for name, value in zip(names, output, strict=False)}


def _close(one: Any, other: Any, least: float) -> bool:
    if not isinstance(one, Tensor) or not isinstance(other, Tensor) or one.shape != other.shape:
        return False
    room = 64 * max(torch.finfo(one.dtype).eps, least) if one.is_floating_point() else 0.0
    return one.dtype == other.dtype and torch.allclose(one, other, room, room, equal_nan=True)
