"""What a recorded call would have given under any set of wrong ideas.

A set is a whole number: bit i stands for item i of the catalogue. Every value of every step is computed once for
those items of the set that can reach it, so that sets which differ late share all that comes before. Where many
sets are tried, a value that comes out bit for bit like the reference's *is* the reference's: an idea that makes no
difference costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.call import Call, Failure
from grader.diagnosis import crashes
from grader.diagnosis.catalogue import Catalogue, Plan
from grader.gradients import vjp

Bounds = Callable[..., "tuple[Tensor, ...] | Tensor"]
"""Inputs -> for each returned value, how far off any correct order of operations may be."""


class Node:
    """The value of a step under a set, or the exception that it raised. Equal values share a node."""

    __slots__ = ("_blank", "error", "plain", "value")

    def __init__(self, value: Any, error: Exception | None = None, plain: bool = False) -> None:
        self.value = value
        self.error = error
        self.plain = plain
        """Whether it is what the reference has there."""
        self._blank: bool | None = None

    def equals(self, value: Any) -> bool:
        """Whether this value is `value`, bit for bit (a NaN is like any other)."""
        if self.error is not None:
            return False
        if self._blank is None:
            self._blank = isinstance(self.value, Tensor) and has_nan(self.value)
        return same(value, self.value, blank=self._blank)


class WhatIf:
    """A call of the student's, recorded, with everything that the bank computes for it."""

    def __init__(self, catalogue: Catalogue, call: Call, bounds: Bounds | None) -> None:
        self.catalogue, self.call, self.bounds = catalogue, call, bounds
        bank = catalogue.bank
        self.seen = _returned(call, bank.returns)
        self.arguments = bank.bind(call.args, call.kwargs)
        self.sharing = False
        """Whether values are compared with the reference's, which pays when many sets are tried on this call."""
        self._base = {name: Node(value, plain=True) for name, value in self.arguments.items()}
        self._base |= {"device": Node(call.device, plain=True), "seen": Node(self.seen, plain=True)}
        self._nodes: dict[str, dict[int, Node]] = {name: {} for name in catalogue.plans}
        self._shared = self._nodes
        self._made: dict[tuple[Any, ...], Node] = {}
        """Step, settings and inputs -> value: sets that differ only in what makes no difference share it."""
        self._drawn: dict[tuple[Any, ...], Node] = {}
        """The same for what depends on the student's answer."""
        self._gradients: dict[int, tuple[Tensor | None, ...] | Exception] = {}
        self._limits: dict[str, np.ndarray[Any, Any]] | None = None

    def answered(self, call: Call, bounds: Bounds | None) -> WhatIf:
        """The same inputs with a student's answer. What does not depend on the answer is computed only once."""
        other = WhatIf(self.catalogue, call, bounds)
        other._made = self._made
        other._shared, other._base = self._shared, other._base | {name: self._base[name] for name in self.arguments}
        self.share()
        other.sharing = True
        return other

    @property
    def known(self) -> bool:
        """Whether the call shows anything: an answer in the promised form, or a failure."""
        return bool(self.seen) or self.call.failure is not None

    def share(self) -> None:
        """Many sets will be tried here: let those share nodes that come out the same."""
        if not self.sharing:
            self.sharing = True
            for known in self._nodes.values():
                for chosen in [chosen for chosen in known if chosen]:
                    del known[chosen]

    def node(self, name: str, chosen: int) -> Node:
        """The value of step `name` under the set."""
        plan = self.catalogue.plans[name]
        chosen &= plan.upstream
        known = self._shared if not chosen & self.catalogue.drawn else self._nodes
        found = known[name].get(chosen)
        if found is None:
            if self.sharing:
                found = known[name][chosen] = self._computed(plan, chosen)
            else:
                self._fill(chosen)
                found = known[name][chosen]
        return found

    def _fill(self, chosen: int) -> None:
        """All steps under the set, in order: the quick way where few sets are tried."""
        nodes = dict(self._base)
        for plan in self.catalogue.plans.values():
            name, relevant = plan.step.name, chosen & plan.upstream
            known = (self._shared if not relevant & self.catalogue.drawn else self._nodes)[name]
            node = known.get(relevant)
            if node is None:
                node = known[relevant] = self._run(plan, chosen & plan.direct, [nodes[s] for s in plan.step.inputs])
                node.plain = not relevant
            nodes[name] = node

    def _run(self, plan: Plan, direct: int, inputs: list[Node]) -> Node:
        if not direct and plan.passed is not None:
            return inputs[plan.passed]
        for node in inputs:
            if node.error is not None:
                return node
        try:
            return Node(plan.step.function(*[node.value for node in inputs], **self.catalogue.knobs(plan, direct)))
        except Exception as error:
            return Node(None, error)

    def _computed(self, plan: Plan, chosen: int) -> Node:
        """One step under the set; the reference's own node if nothing differs."""
        base, direct = self._base, chosen & plan.direct
        if not direct and plan.step.passes is not None:
            return base.get(plan.step.passes) or self.node(plan.step.passes, chosen)
        inputs, other = [], direct != 0
        for source in plan.step.inputs:
            node = base.get(source) or self.node(source, chosen)
            if not node.plain:
                if node.error is not None:
                    return node
                other = True
            inputs.append(node)
        if chosen and not other:
            return self.node(plan.step.name, 0)
        if not chosen:
            node = self._run(plan, direct, inputs)
            node.plain = True
            return node
        key = plan.step.name, direct, *inputs
        made = self._drawn if chosen & self.catalogue.drawn else self._made
        found = made.get(key)
        if found is None:
            found = made[key] = self._shortest(plan, chosen, direct, self._run(plan, direct, inputs))
        return found

    def _shortest(self, plan: Plan, chosen: int, direct: int, node: Node) -> Node:
        """The node of the set without an item that idles here, if there is one: the reference's for a single item."""
        while direct and node.error is None:
            other = self.node(plan.step.name, chosen & ~(direct & -direct))
            if other.equals(node.value):
                return other
            direct &= direct - 1
        return node

    def error(self, chosen: int) -> Exception | None:
        """How the call ends under the set, if not with an answer."""
        for name in self.catalogue.ends:
            node = self.node(name, chosen)
            if node.error is not None:
                return node.error
        if self.call.cotangents is not None:
            got = self.gradients(chosen)
            return got if isinstance(got, Exception) else None
        return None

    def alike(self, one: int, other: int) -> bool:
        """Whether this call can't tell the two sets apart."""
        self.share()
        errors = self.error(one), self.error(other)
        if any(errors):
            families = [
                error and crashes.family(Failure("exception", type(error).__name__, str(error))) for error in errors
            ]
            return families[0] == families[1]
        names = self.catalogue.bank.returns
        return all(_close(self.node(name, one).value, self.node(name, other).value) for name in names)

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
        leaves = {id(tensor): tensor.detach().clone() for tensor in call.inputs}
        for tensor in call.inputs:
            leaves[id(tensor)].requires_grad_(tensor.requires_grad)
        args = tuple(leaves.get(id(item), item) for item in call.args)
        kwargs = {key: leaves.get(id(item), item) for key, item in call.kwargs.items()}
        with torch.enable_grad():
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
        args = tuple(_double(item) for item in call.args)
        kwargs = {key: _double(item) for key, item in call.kwargs.items()}
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


def _close(one: Any, other: Any) -> bool:
    if not isinstance(one, Tensor) or not isinstance(other, Tensor) or one.shape != other.shape:
        return False
    room = 64 * torch.finfo(one.dtype).eps if one.is_floating_point() else 0.0
    return one.dtype == other.dtype and torch.allclose(one, other, room, room, equal_nan=True)


def _double(item: Any) -> Any:
    return item.detach().double() if isinstance(item, Tensor) and item.is_floating_point() else item


def has_nan(value: Tensor) -> bool:
    return value.is_floating_point() and math.isnan(float(value.detach().sum())) and bool(value.isnan().any())


def same(left: Any, right: Any, blank: bool = True) -> bool:
    """The same tensor bit for bit (a NaN is like any other, if there can be any), or equal values of another kind.

    A step may also compute a tuple of such values.
    """
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return len(left) == len(right) and all(same(one, other, blank) for one, other in zip(left, right, strict=True))
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return type(left) is type(right) and not isinstance(left, Tensor) and bool(left == right)
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if torch.equal(left, right):
        return True
    if not blank or not left.is_floating_point() or not has_nan(left):
        return False
    return torch.equal(left.isnan(), right.isnan()) and torch.equal(left.nan_to_num(), right.nan_to_num())
