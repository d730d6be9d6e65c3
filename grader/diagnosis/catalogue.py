"""The ideas of a bank as bits of a number, and which steps of the implementation each of them can reach."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from grader.misconception import AFTER, Bank, Knobs, Misconception, Step

_SEEN = {"common": 0, "occasional": 1, "rare": 2}


@dataclass(frozen=True, eq=False)
class Item:
    """One setting of one idea, or a style (idea is None)."""

    bit: int
    idea: Misconception | None
    knobs: Knobs
    main: bool
    rank: int
    """Smaller is likelier."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A step, and which items touch it directly or through what it needs."""

    step: Step
    direct: int
    upstream: int
    passed: int | None
    """The position of the input that the step passes on while no item touches it."""
    knobs: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Set of items that touch the step -> its settings, as far as they were needed."""


class Catalogue:
    """The items of a bank as bits. Made once for a bank; holds nothing of any submission."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        settings: list[tuple[Misconception | None, Knobs, bool]] = []
        ideas = sorted(bank.misconceptions, key=lambda idea: _SEEN[idea.seen])
        settings += [(idea, idea.knobs, True) for idea in ideas]
        settings += [(idea, knobs, False) for idea in ideas for knobs in idea.also]
        settings += [(None, knobs, True) for knobs in bank.styles]
        self.items = tuple(Item(1 << n, idea, knobs, main, n) for n, (idea, knobs, main) in enumerate(settings))
        self.ideas = tuple(item for item in self.items if item.idea is not None)
        self.styles = tuple(item for item in self.items if item.idea is None)
        self.of = {item.bit: item for item in self.items}
        owners: dict[Any, int] = {}
        for item in self.items:
            for owner in _owned(item):
                owners[owner] = owners.get(owner, 0) | item.bit
        self._conflicts = {
            item.bit: functools.reduce(int.__or__, (owners[owner] for owner in _owned(item))) for item in self.items
        }
        self.plans: dict[str, Plan] = {}
        for step in bank.steps:
            direct = sum(item.bit for item in self.items if step.knobs.keys() & item.knobs.keys())
            above = [self.plans[name].upstream for name in step.inputs if name in self.plans]
            passed = None if step.passes is None else step.inputs.index(step.passes)
            self.plans[step.name] = Plan(step, direct, functools.reduce(int.__or__, above, direct), passed)
        self.steps = {
            item.bit: tuple(name for name, plan in self.plans.items() if plan.direct & item.bit) for item in self.items
        }
        """Item -> the steps that it touches directly."""
        reading = [plan.direct for plan in self.plans.values() if "seen" in plan.step.inputs]
        self.drawn = functools.reduce(int.__or__, reading, 0)
        """Items that may look at the student's answer."""
        self.ends = [name for name in self.plans if name in bank.returns or name.endswith(AFTER)]
        """Steps whose exception is the call's."""

    def fits(self, chosen: int, item: Item) -> bool:
        """Whether the item can join the set: it is not in it, and sets no knob that the set has set."""
        return not chosen & self._conflicts[item.bit]

    def members(self, chosen: int) -> list[Item]:
        """The items of a set, likeliest first."""
        found = []
        while chosen:
            bit = chosen & -chosen
            found.append(self.of[bit])
            chosen ^= bit
        return found

    def size(self, chosen: int) -> int:
        """How many wrong ideas a set holds; styles do not count."""
        return sum(item.idea is not None for item in self.members(chosen))

    def knobs(self, plan: Plan, direct: int) -> dict[str, Any]:
        """The settings of a step's knobs under a set of items that touch it."""
        found = plan.knobs.get(direct)
        if found is None:
            items = self.members(direct)
            found = {knob: item.knobs[knob] for item in items for knob in item.knobs if knob in plan.step.knobs}
            plan.knobs[direct] = found
        return found

    def all_knobs(self, chosen: int) -> dict[str, Any]:
        """The settings of all knobs under a set."""
        return {knob: value for item in self.members(chosen) for knob, value in item.knobs.items()}


def _owned(item: Item) -> list[Any]:
    """What only one item of a set may have: each of its knobs, and its idea."""
    return [*item.knobs, *([("idea", item.idea.id)] if item.idea else [])]
