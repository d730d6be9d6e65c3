"""One submission's diagnosis: the calls, the further questions put to its code, and the sets of ideas that fit all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from grader.call import Call
from grader.diagnosis.lasting import catalogue_of, questions_of, quiet_of
from grader.diagnosis.part import YES, Part
from grader.diagnosis.parts import Failed, parts_of
from grader.diagnosis.returned import SINGLE
from grader.diagnosis.search import Search
from grader.diagnosis.whatif import Bounds, WhatIf
from grader.diagnosis.wording import written
from grader.misconception import Bank, fresh
from grader.results import DiagnosisResult

Ask = Callable[[tuple[Any, ...], dict[str, Any]], Call]

THOROUGH = {1: (False,), 2: (False, True), 3: (False,)}
"""Rounds of the search for each number of ideas in one set: see `Search.fitting`."""
QUESTIONS = 6
"""Further calls that the student's code is asked at most."""
OPENING = 2
"""Answers to further questions that come before the search: what sets of ideas answer there is known."""
SUSPECTS = 12
"""Ideas by which the question that will be answered is chosen, where most calls failed."""
LARGE = 20_000
"""Elements in the inputs of a call beyond which it is left out: replaying it would cost more than it tells."""


class Inquiry:
    """The diagnosis of one submission."""

    def __init__(self, calls: Sequence[Call], bank: Bank, bounds: Bounds | None, ask: Ask | None) -> None:
        self.bank, self.bounds, self.ask = bank, bounds, ask
        self.catalogue = catalogue_of(bank)
        self.records = [WhatIf(self.catalogue, call, bounds) for call in calls if _usable(call, bank)]
        self.records = sorted((record for record in self.records if record.known), key=_order)
        self.parts: dict[tuple[WhatIf, bool], tuple[Part, ...]] = {}
        self.rough = False
        """Whether roundings to float32 are overlooked: see `Returned`."""
        self.search = Search(self.catalogue, lambda: quiet_of(bank))
        self.questions = list(questions_of(bank)) if ask else []
        self.left = QUESTIONS
        self.asked: list[WhatIf] = []
        self.apart = False
        """Whether failures are explained by themselves, so that they say nothing for a set."""

    def result(self, records: list[WhatIf]) -> DiagnosisResult | None:
        """The smallest sets that fit all these calls, as a result; None when none does.

        Where none does, but some came so near that a constant in float32 may lie between, they are tried for that.
        """
        if not records or not self._open(records):
            return None
        self.rough = False
        found = self._smallest(records)
        if found is None and any(part.blurred for parts in self.parts.values() for part in parts):
            self.rough = True
            found = self._smallest(records)
        return found

    def _smallest(self, records: list[WhatIf]) -> DiagnosisResult | None:
        for size in THOROUGH:
            if size > 1 and all(record.call.failure is not None for record in self._all(records)):
                return None  # no number to go by: two ideas would be a guess
            for thorough in THOROUGH[size]:
                sets = self._fitting(self._all(records), size, thorough)
                remain = self._told_apart(sets)
                if sets and not remain:  # the further calls tell against all of them
                    remain = self._fitting(self._all(records), size, thorough)
                if remain:
                    sets, calls = self._distinct(self._groups(remain)), self._all(records)
                    parts = [part for record in calls for part in self._parts(record)]
                    return written(self.catalogue, sets, parts, len(calls), len(self.records))
        return None

    def _all(self, records: list[WhatIf]) -> list[WhatIf]:
        """These calls and what was asked, of which the answers come first: few ideas show there."""
        asked = [record for record in self.asked if record.seen or not self.apart]
        return [*sorted(asked, key=lambda record: not record.seen), *records]

    def _fitting(self, records: Sequence[WhatIf], size: int, thorough: bool) -> list[int]:
        parts = [part for record in records for part in self._parts(record)]
        fitting = self.search.fitting(parts, size, thorough=thorough)
        if self.rough and not all(self.catalogue.size(chosen) for chosen in fitting):
            return []  # what is right but for roundings needs no explanation
        return [chosen for chosen in fitting if self.catalogue.size(chosen) and self._convincing(chosen, parts)]

    def _open(self, records: Sequence[WhatIf]) -> bool:
        """Ask until two questions are answered. False where all calls fail, and in a way that no idea fails."""
        failed = [record for record in records if record.call.failure is not None]
        suspects = self._suspects(failed[0]) if 2 * len(failed) > len(records) else []
        if len(failed) == len(records) and not suspects:
            return False
        while self.questions and self.left and sum(bool(record.seen) for record in self.asked) < OPENING:
            self._put(self._answerable(suspects) if suspects else self.questions[0])
        return True

    def _suspects(self, failed: WhatIf) -> list[int]:
        """The likeliest ideas that explain by themselves how this call failed."""
        part = self._parts(failed)[0]
        explaining = (item.bit for item in self.catalogue.ideas if part.fits(item.bit) == YES)
        return list(itertools.islice(explaining, SUSPECTS))

    def _answerable(self, suspects: list[int]) -> WhatIf:
        """The question in which the fewest of these ideas fail, rather one with other arguments than were answered."""
        answered = {_given(record) for record in self.asked if record.seen}

        def cost(question: WhatIf) -> tuple[int, bool]:
            return sum(question.error(idea) is not None for idea in suspects), _given(question) in answered

        return min(self.questions, key=cost)

    def _told_apart(self, sets: list[int]) -> list[int]:
        """Those of the sets that also fit the further calls that are asked for this."""
        while (question := self._question(self._groups(sets))) is not None:
            parts = [part for record in self._put(question) for part in self._parts(record)]
            sets = [chosen for chosen in sets if all(part.fits(chosen) == YES for part in parts)]
        return sets

    def _parts(self, record: WhatIf) -> tuple[Part, ...]:
        key = record, self.rough
        if key not in self.parts:
            self.parts[key] = parts_of(record, rough=self.rough)
        return self.parts[key]

    def _groups(self, sets: list[int]) -> list[int]:
        """The first of the smallest sets for each group of ideas (sets that differ by a style are one group).

        An idea without a style goes before an idea that needs one to give the same numbers.
        """
        sets = [chosen for chosen in sets if self.catalogue.size(chosen)]
        weight = {chosen: (self.catalogue.size(chosen), chosen.bit_count()) for chosen in sets}
        groups: dict[frozenset[str], int] = {}
        for chosen in sets:
            if weight[chosen] == min(weight.values()):
                groups.setdefault(frozenset(idea.id for idea in self.catalogue.ideas_of(chosen)), chosen)
        return list(groups.values())

    def _distinct(self, sets: list[int]) -> list[int]:
        """The sets without those that differ from a likelier one by roundings that are overlooked."""
        if not self.rough:
            return sets
        kept: list[int] = []
        for chosen in sorted(sets, key=self.catalogue.rank):
            if not any(self._same(chosen, other) for other in kept):
                kept.append(chosen)
        return kept

    def _same(self, one: int, other: int) -> bool:
        """Whether no question at all can tell the two sets apart."""
        return all(question.alike(one, other, SINGLE) for question in questions_of(self.bank))

    def _convincing(self, chosen: int, parts: Sequence[Part]) -> bool:
        """Whether enough speaks for the set: more than that calls failed or gave NaN, as they do in many a mistake.

        Where nothing but NaN shows, a single idea is believed, and two are not.
        """
        single = self.catalogue.size(chosen) == 1
        counted = [part for part in parts if not (self.apart and isinstance(part, Failed))]
        return any(part.fits(0) != YES and part.telling(chosen, single) for part in counted)

    # --- asking ---

    def _question(self, sets: list[int]) -> WhatIf | None:
        """The further call on which the sets differ most, None when there is none or nothing to tell apart."""
        if len(sets) < 2 or not self.left:
            return None
        best, most, least = None, 1, SINGLE if self.rough else 0.0
        for record in self.questions:
            different: list[int] = []
            for chosen in sets:
                if not any(record.alike(chosen, other, least) for other in different):
                    different.append(chosen)
            if len(different) > most:
                best, most = record, len(different)
        return best

    def _put(self, question: WhatIf) -> list[WhatIf]:
        """Ask the student's code: what it said, or nothing where it did not come to an end."""
        assert self.ask is not None
        self.questions.remove(question)
        self.left -= 1
        with torch.inference_mode(False):  # the student's code runs as it does in any other call
            answer = self.ask(*fresh((question.call.args, question.call.kwargs)))
        if answer.failure is not None and answer.failure.kind != "exception":
            self.left = 0  # each further question might take as long
            return []
        self.asked.append(question.answered(answer, self.bounds))
        return self.asked[-1:]


def _usable(call: Call, bank: Bank) -> bool:
    """Whether replaying the call can tell something at a fair price."""
    if len(call.args) > len(bank.arguments) or not set(call.kwargs) <= set(bank.arguments[len(call.args) :]):
        return False
    if call.failure is not None and call.failure.kind != "exception":
        return False
    return sum(tensor.numel() for tensor in call.inputs) <= LARGE


def _given(record: WhatIf) -> tuple[bool, ...]:
    """Which arguments the call gives."""
    return tuple(value is not None for value in record.arguments.values())


def _order(record: WhatIf) -> tuple[bool, bool, bool, int, bool, int]:
    """Calls first in which few ideas can show, and these clearly: answered, exact, no gradients, few tensors, small."""
    inputs = record.call.inputs
    numbers = [tensor for tensor in inputs if tensor.is_floating_point()]
    coarse = any(torch.finfo(tensor.dtype).eps > 1e-5 for tensor in numbers)
    lean = any(1 in tensor.shape for tensor in numbers)  # where a size is 1, many ideas look alike
    elements = sum(tensor.numel() for tensor in inputs)
    failed = record.call.failure is not None
    return failed, coarse, record.call.cotangents is not None, len(inputs), lean, elements
