"""What a recorded call shows, part by part, compared with what the bank computes under a set of wrong ideas."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from grader.call import Failure
from grader.diagnosis import crashes
from grader.diagnosis.node import same
from grader.diagnosis.part import NO, YES, Part
from grader.diagnosis.returned import SINGLE, Returned
from grader.diagnosis.whatif import WhatIf
from grader.misconception import AFTER, ANSWER_DEVICE


def parts_of(whatif: WhatIf, *, rough: bool = False) -> tuple[Part, ...]:
    """What there is to compare, starting with what the fewest ideas can touch. `rough`: see `Returned`."""
    plans, call = whatif.catalogue.plans, whatif.call
    if call.failure is not None:
        return (Failed(whatif, call.failure),)
    names = sorted(whatif.seen, key=lambda name: plans[name].upstream.bit_count())
    parts: list[Part] = [Returned(whatif, name, whatif.seen[name], rough) for name in names]
    if ANSWER_DEVICE in plans and call.layouts:
        parts.append(Placed(whatif, "cpu" if all(layout.device == "cpu" for layout in call.layouts) else "gpu"))
    sent = [id(tensor) for tensor in call.inputs]
    if len(call.after) == len(sent):
        after = dict(zip(sent, call.after, strict=True))
        left = {name: after.get(id(value)) for name, value in whatif.arguments.items() if name + AFTER in plans}
        parts.append(LeftBehind(whatif, {name: value for name, value in left.items() if value is not None}))
    if call.gradients is not None:
        parts.append(Gradients(whatif, call.gradients, rough))
    return tuple(parts)


class Failed(Part):
    """A call that ended in an exception."""

    def __init__(self, whatif: WhatIf, failure: Failure) -> None:
        super().__init__(whatif)
        self.failure = failure
        self.family = crashes.family(failure)
        self._known: dict[int, int] = {}

    def fits(self, chosen: int) -> int:
        if chosen not in self._known:
            error = self.whatif.error(chosen)
            same = error is not None and crashes.family(_failure(error)) == self.family
            self._known[chosen] = YES if same else NO
        return self._known[chosen]

    def telling(self, chosen: int, single: bool) -> bool:
        error = self.whatif.error(chosen)
        return self.family != "shapes" or (error is not None and str(error) == self.failure.message)


class Placed(Part):
    """The device on which the answer stands."""

    def __init__(self, whatif: WhatIf, device: str) -> None:
        super().__init__(whatif)
        self.device = device
        self.upstream = whatif.catalogue.plans[ANSWER_DEVICE].upstream

    def fits(self, chosen: int) -> int:
        return YES if self.whatif.node(ANSWER_DEVICE, chosen).value == self.device else NO


class LeftBehind(Part):
    """The arguments as the call left them: bit for bit where they are unchanged, within rounding where not."""

    def __init__(self, whatif: WhatIf, after: dict[str, Tensor]) -> None:
        super().__init__(whatif)
        self.after = after
        self.changed = {name for name, value in after.items() if not same(whatif.arguments[name], value)}
        plans = whatif.catalogue.plans
        self.above = {name: plans[name + AFTER].upstream for name in after}
        self.upstream = functools.reduce(int.__or__, self.above.values(), 0)

    def fits(self, chosen: int) -> int:
        return YES if all(self._fits(name, chosen) for name in self.after) else NO

    def _fits(self, name: str, chosen: int) -> bool:
        if not chosen & self.above[name]:
            return name not in self.changed
        value, after = self.whatif.node(name + AFTER, chosen).value, self.after[name]
        if not isinstance(value, Tensor) or value.shape != after.shape or value.dtype != after.dtype:
            return False
        if same(value, after):
            return True
        return (
            name in self.changed
            and value.is_floating_point()
            and torch.allclose(value.detach(), after, 1e-3, 1e-6, equal_nan=True)
        )


class Gradients(Part):
    """The gradients of a call that asked for them."""

    dear = True

    def __init__(self, whatif: WhatIf, seen: tuple[Tensor | None, ...], rough: bool) -> None:
        super().__init__(whatif)
        self.seen = seen
        self.least = SINGLE if rough else 0.0
        catalogue = whatif.catalogue
        above = [catalogue.plans[name].upstream for name in catalogue.bank.returns]
        self.upstream = functools.reduce(int.__or__, above)

    def fits(self, chosen: int) -> int:
        got = self.whatif.gradients(chosen)
        if isinstance(got, Exception) or len(got) != len(self.seen):
            return NO
        same = all(_close(mine, theirs, self.least) for mine, theirs in zip(got, self.seen, strict=True))
        return YES if same else NO

    def telling(self, chosen: int, single: bool) -> bool:
        return single or any(gradient is None or bool(gradient.isfinite().any()) for gradient in self.seen)


def _close(mine: Tensor | None, theirs: Tensor | None, least: float) -> bool:
    """Equal up to a few thousand roundings, each `least` at least, of the largest; None only like None or zeros."""
    if mine is None or theirs is None:
        other = theirs if mine is None else mine
        return other is None or not bool(other.any())
    if mine.shape != theirs.shape:
        return False
    scale = float(mine.nan_to_num().abs().max()) if mine.numel() else 0.0
    room = 4096 * max(torch.finfo(theirs.dtype).eps, least)
    return torch.allclose(mine.to(theirs.dtype), theirs, room, room * scale, equal_nan=True)


def _failure(error: Exception) -> Failure:
    return Failure("exception", type(error).__name__, str(error))
