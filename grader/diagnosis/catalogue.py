"""The ideas of a bank as bits of a number, and which steps of the implementation each of them can reach."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.misconception import AFTER, Bank, Inputs, Knobs, Misconception, Step

DEVICE, SEEN = "device", "seen"
EMPTY = "no answer"
"""Stands for the student's answer where no item looks at it, so that such values are the same for all students."""
_HOW_OFTEN = {"common": 0, "occasional": 1, "rare": 2}


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
    slot: int
    """Where its value stands in a row of values."""
    direct: int
    upstream: int
    drawn: int
    """Items with which the step looks at the student's answer."""
    reads: tuple[int, ...]
    """Slots of its inputs; the answer's is that of an empty answer."""
    reads_answer: tuple[int, ...]
    """The same with the student's answer."""
    needs: int
    """The same as bits of a number."""
    passed: int | None
    """The slot of the input that the step passes on while no item touches it."""
    knobs: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Set of items that touch the step -> its settings, as far as they were needed."""


class _Watched(dict[str, Any]):
    """An empty answer that knows whether it was looked at."""

    looked_at = False

    def __getitem__(self, name: str) -> Any:
        self.looked_at = True
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.looked_at = True
        return super().get(name, default)


class Catalogue:
    """The items of a bank as bits. Made once for a bank; holds nothing of any submission."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        settings: list[tuple[Misconception | None, Knobs, bool]] = []
        ideas = sorted(bank.misconceptions, key=lambda idea: _HOW_OFTEN[idea.seen])
        settings += [(idea, idea.knobs, True) for idea in ideas]
        settings += [(idea, knobs, False) for idea in ideas for knobs in idea.also]
        settings += [(None, knobs, True) for knobs in bank.styles]
        bits = self._bits([knobs for _, knobs, _ in settings])
        self.items = tuple(Item(bits[n], idea, knobs, main, n) for n, (idea, knobs, main) in enumerate(settings))
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
        self.slots = {name: slot for slot, name in enumerate((*bank.arguments, DEVICE, SEEN, EMPTY))}
        """Name -> where the value stands in a row of all values, steps in order after what is given."""
        self.given = len(self.slots)
        self.plans: dict[str, Plan] = {}
        for step in bank.steps:
            self.plans[step.name] = self._plan(step)
        self.steps = {
            item.bit: tuple(name for name, plan in self.plans.items() if plan.direct & item.bit) for item in self.items
        }
        """Item -> the steps that it touches directly."""
        self.paths = {name: self._path(plan) for name, plan in self.plans.items()}
        """Step -> the steps that it needs, in order, itself the last."""
        self.drawn = functools.reduce(int.__or__, (plan.drawn for plan in self.plans.values()), 0)
        """Items that may look at the student's answer."""
        self._ranks: dict[int, tuple[int, int]] = {}
        self.ends = [name for name in self.plans if name in bank.returns or name.endswith(AFTER)]
        """Steps whose exception is the call's."""

    def _bits(self, settings: Sequence[Knobs]) -> list[int]:
        """A bit for each item: the later in the implementation it acts first, the lower."""
        first: dict[str, int] = {}
        for number, step in enumerate(self.bank.steps):
            for knob in step.knobs:
                first.setdefault(knob, number)
        acts = [min((first[knob] for knob in knobs), default=0) for knobs in settings]
        order = sorted(range(len(settings)), key=lambda n: acts[n], reverse=True)
        bits = {n: 1 << place for place, n in enumerate(order)}
        return [bits[n] for n in range(len(settings))]

    def _path(self, plan: Plan) -> tuple[Plan, ...]:
        slots = {plan.slot, *plan.reads}
        for other in reversed(self.plans.values()):
            if other.slot in slots:
                slots.update(other.reads)
        return tuple(other for other in self.plans.values() if other.slot in slots)

    def _plan(self, step: Step) -> Plan:
        slots = self.slots
        direct = sum(item.bit for item in self.items if step.knobs.keys() & item.knobs.keys())
        above = [self.plans[name].upstream for name in step.inputs if name in self.plans]
        answer = tuple(slots[name] for name in step.inputs)
        slots[step.name] = len(slots)
        return Plan(
            step,
            slots[step.name],
            direct,
            functools.reduce(int.__or__, above, direct),
            self._looking(direct) if SEEN in step.inputs else 0,
            tuple(slots[EMPTY if name == SEEN else name] for name in step.inputs),
            answer,
            sum(1 << slot for slot in {*answer}),
            None if step.passes is None else slots[step.passes],
        )

    def _looking(self, items: int) -> int:
        """Those of the items that look at the student's answer, as the bank's own questions show."""
        questions = self.bank.probes()
        return sum(item.bit for item in self.items if item.bit & items and self._looks(item, questions))

    def _looks(self, item: Item, questions: Sequence[Inputs]) -> bool:
        for args, kwargs in questions:
            answer = _Watched()
            with contextlib.suppress(Exception):
                self.bank.values(args, kwargs, item.knobs, seen=answer)
                return answer.looked_at
        return True  # no question tells

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
        return sorted(found, key=lambda item: item.rank)

    def ideas_of(self, chosen: int) -> list[Misconception]:
        """The ideas of a set, likeliest first, without styles."""
        return [item.idea for item in self.members(chosen) if item.idea is not None]

    def size(self, chosen: int) -> int:
        """How many wrong ideas a set holds; styles do not count."""
        return self.rank(chosen)[0]

    def rank(self, chosen: int) -> tuple[int, int]:
        """How many ideas a set holds and how unlikely its items are: the smaller, the sooner it is named."""
        found = self._ranks.get(chosen)
        if found is None:
            members = self.members(chosen)
            ideas = sum(item.idea is not None for item in members)
            found = self._ranks[chosen] = ideas, sum(item.rank for item in members)
        return found

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
