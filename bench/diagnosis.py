"""How well misconceptions are named, and what that costs.

    python -m bench.diagnosis [PAIRS] [TRIPLES]

Every single idea through the hidden checks themselves; pairs and triples, drawn at random, on the inputs of those
checks; then code from outside the bank: mutants of the reference, and mistakes written by hand in other styles and
in many harmless spellings.
"""

from __future__ import annotations

import functools
import gc
import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from bench import class_diagnosis
from bench.answered import answered, equal, exact, reproduces, settings
from bench.composites import COMPOSITES
from bench.measure import ROOT, say
from bench.mutants import mutants
from bench.spellings import IDEAS, SPELLINGS, spelled
from grader import assignment, staff
from grader.call import Call
from grader.collect import Checks, collect
from grader.diagnosis.diagnose import diagnose
from grader.misconception import Bank
from grader.results import DiagnosisResult
from grader.sandbox import accelerator
from grader.sandbox.fake import FakeSession

Function = Callable[..., Any]
SEED = 20
GOAL = 40
"""CPU milliseconds of one diagnosis."""
WORST = 12
"""Cases of each kind that are listed."""


@dataclass
class Tally:
    """How the cases of one kind went, and the processor milliseconds of each diagnosis."""

    exact: int = 0
    among: int = 0
    same: int = 0
    silent: int = 0
    other: int = 0
    cost: list[float] = field(default_factory=list)
    worst: list[str] = field(default_factory=list)

    @property
    def told(self) -> int:
        """Cases that can be told from every smaller or likelier set."""
        return self.exact + self.among + self.silent + self.other


class Bench:
    """The assignment, and the calls that its hidden checks make."""

    def __init__(self) -> None:
        accelerator.install()
        self.assignment = assignment.load("attention", ROOT)
        self.staff = staff.load(self.assignment)
        if self.staff.bank is None:
            raise SystemExit("The assignment has no bank of misconceptions.")
        self.bank: Bank = self.staff.bank
        self.requests = next(iter(self.recorded([self.staff.reference])))

    def recorded(self, functions: Sequence[Function]) -> list[list[Call]]:
        """For each function all calls that the hidden checks make of it."""
        found: list[list[Call]] = []

        def work(checks: Checks) -> None:
            for function in functions:
                calls: list[Call] = []
                session = FakeSession(function)
                for number, check in enumerate(checks.checks):
                    torch.manual_seed(SEED + number)
                    checks.run(check, check.student(session, self.assignment.settings, calls))
                found.append(calls)

        collect(self.assignment.hidden_checks, Checks(self.staff.in_double, work))
        return found

    def replayed(self, names: Sequence[str]) -> list[Call]:
        """The same calls of a function that holds these ideas."""
        return [answered(self.bank, request, self._knobs(names)) for request in self.requests]

    def diagnosed(self, calls: Sequence[Call], function: Function) -> tuple[list[DiagnosisResult], float]:
        """The diagnosis and its processor milliseconds; the student's answers to further questions are not counted."""
        asked = 0.0

        def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
            nonlocal asked
            began = time.process_time()
            got = FakeSession(function).call(args, kwargs)
            asked += time.process_time() - began
            return got

        began = time.process_time()
        found = diagnose(calls, self.bank, self.staff.bounds, ask=ask)
        return found, (time.process_time() - began - asked) * 1e3

    def judged(self, tally: Tally, names: Sequence[str], calls: Sequence[Call]) -> None:
        """Diagnose a function that holds these ideas and count the outcome."""
        found, cost = self.diagnosed(calls, self.bank.variant(*names))
        tally.cost.append(cost)
        got = found[0].misconceptions if found else []
        if set(got) == set(names) and not found[0].alternatives:
            tally.exact += 1
        elif self._alike(names, got):
            tally.same += 1
        else:
            among = bool(found) and set(names) in [set(other) for other in (got, *found[0].alternatives)]
            tally.among += among
            tally.silent += not found
            tally.other += bool(found) and not among
            others = f", or {found[0].alternatives}" if found and found[0].alternatives else ""
            tally.worst.append(f"{' + '.join(names)}: {' + '.join(got) or 'nothing'}{others}")

    def _alike(self, names: Sequence[str], got: Sequence[str]) -> bool:
        """Whether the checks' calls show no difference to a smaller set, or these and all probes none to another.

        Where nothing was named, sets with another idea in the place of one are tried.
        """
        if set(got) <= {idea.id for idea in self.bank.misconceptions} and got:
            return self._same(names, list(settings(self.bank, got)), probes=len(got) >= len(names))
        others = [
            [*(kept for kept in names if kept != left), idea.id]
            for left in names
            for idea in self.bank.misconceptions
            if idea.id not in names
        ]
        return self._same(names, [self._knobs(other) for other in others if self._possible(other)], probes=True)

    def _knobs(self, names: Sequence[str]) -> dict[str, Any]:
        return {key: value for name in names for key, value in self.bank[name].knobs.items()}

    def _possible(self, names: Sequence[str]) -> bool:
        return len(self._knobs(names)) == sum(len(self.bank[name].knobs) for name in names)

    def _same(self, names: Sequence[str], others: list[dict[str, Any]], *, probes: bool) -> bool:
        """Whether one of the other settings gives the same answers to all calls, and to all probes."""
        requests = list(self.requests)
        if probes:
            requests += [Call(args, kwargs, "cpu") for args, kwargs in self.bank.probes()]
        for request in requests:
            others = [knobs for knobs in others if self._agree(request, self._knobs(names), knobs)]
        return bool(others)

    def _agree(self, request: Call, one: dict[str, Any], other: dict[str, Any]) -> bool:
        """Whether two settings give the same answer, or answers that differ by rounding only."""
        if equal(answered(self.bank, request, one), answered(self.bank, request, other)):
            return True
        precise = exact(request)
        return request.cotangents is None and equal(
            answered(self.bank, precise, one), answered(self.bank, precise, other), 1e-12
        )


def _sets(bank: Bank, size: int) -> Iterator[tuple[str, ...]]:
    """All sets of so many ideas that set different knobs."""
    ideas = {idea.id: idea for idea in bank.misconceptions}
    for names in itertools.combinations(ideas, size):
        knobs = [knob for name in names for knob in ideas[name].knobs]
        if len(set(knobs)) == len(knobs):
            yield names


def _print(words: str, tally: Tally, goal: float, *, counts: bool = True) -> bool:
    """Print one kind of cases; whether its goals are met. `counts`: whether there is one for the cost."""
    met = tally.exact >= goal * tally.told and (not counts or tally.exact + tally.among == tally.told)
    share = f"{tally.exact}/{tally.told} = {100 * tally.exact / max(tally.told, 1):.1f} %"
    say(f"{words}: named exactly", share, f"goal: {goal:.0%}{', the rest among alternatives' if counts else ''}")
    say("    the truth among alternatives, silent, another name", f"{tally.among}, {tally.silent}, {tally.other}")
    say("    not counted: no call tells them from another set, no larger", str(tally.same))
    say("    the goal for the names is", "met" if met else "NOT MET")
    met &= _print_cost(tally.cost, counts=counts)
    for line in tally.worst[:WORST]:
        print(f"      {line}")
    return met


def _print_cost(cost: Sequence[float], *, counts: bool = True) -> bool:
    """Print what diagnoses cost; whether that is within the goal, or has none."""
    ordered = sorted(cost)
    mean, high = statistics.mean(ordered), ordered[int(0.95 * (len(ordered) - 1))]
    figures = mean, statistics.median(ordered), high, ordered[-1]
    met = max(mean, high) <= GOAL
    goal = f"goal: mean and 95 % at most {GOAL}: {'met' if met else 'NOT MET'}" if counts else ""
    say("    CPU ms of a diagnosis: mean, median, 95 % below, most", ", ".join(f"{ms:.0f}" for ms in figures), goal)
    say("    the same in calls of the reference", ", ".join(f"{ms / _reference_call():.0f}" for ms in figures))
    return met or not counts


@functools.lru_cache(maxsize=1)
def _reference_call() -> float:
    """CPU milliseconds of one call of the plain formula: how busy the machine is cancels in a ratio to it."""
    Q, K, V = torch.randn(2, 3, 5, 6), torch.randn(2, 3, 7, 6), torch.randn(2, 3, 7, 4)
    mask = torch.ones(5, 7).tril()
    times = []
    for _ in range(50):
        began = time.process_time()
        for _ in range(20):
            weights = (Q @ K.mT / Q.size(-1) ** 0.5).masked_fill(mask == 0, float("-inf")).softmax(-1)
            weights @ V
        times.append((time.process_time() - began) / 20 * 1e3)
    return statistics.median(times)


def _outside(bench: Bench) -> bool:
    """Mutants of the reference: whatever is named must reproduce all numbers."""
    functions = [function for _, function in mutants(ROOT / "solutions" / "attention" / "attention.py")]
    wrong, named, silent, cost, listed = 0, 0, 0, [], []
    for (words, function), calls in zip(
        mutants(ROOT / "solutions" / "attention" / "attention.py"), bench.recorded(functions), strict=True
    ):
        if all(equal(call, request) for call, request in zip(calls, bench.requests, strict=False)):
            continue
        found, spent = bench.diagnosed(calls, function)
        cost.append(spent)
        ideas = [one for one in found if not one.misconceptions[0].startswith("crash_")]
        if not ideas:
            silent += 1
            continue
        named += 1
        if not any(reproduces(bench.bank, knobs, calls) for knobs in settings(bench.bank, ideas[0].misconceptions)):
            wrong += 1
            listed.append(f"{words}: {' + '.join(ideas[0].misconceptions)}")
    say("mutants of the reference that answer differently", str(named + silent), "goal: at least 100")
    say("    named, and silent (or explained as a crash only)", f"{named}, {silent}")
    say("    named wrongly", str(wrong), "goal: 0")
    _print_cost(cost, counts=False)
    for line in listed[:WORST]:
        print(f"      {line}")
    return wrong == 0 and named + silent >= 100


def _by_hand(bench: Bench) -> None:
    """Mistakes in another style must get the same names."""
    right, listed = 0, []
    for (names, function), calls in zip(
        COMPOSITES, bench.recorded([function for _, function in COMPOSITES]), strict=True
    ):
        found, _ = bench.diagnosed(calls, function)
        got = set(found[0].misconceptions) if found else set()
        right += got == set(names)
        if got != set(names):
            listed.append(f"{function.__name__} ({' + '.join(names)}): {' + '.join(sorted(got)) or 'nothing'}")
    say("mistakes by hand in other styles: named exactly", f"{right}/{len(COMPOSITES)}")
    for line in listed:
        print(f"      {line}")


def _spelt(bench: Bench) -> bool:
    """The commonest mistakes, each in many harmless spellings of all the rest."""
    tally, cases = Tally(), list(itertools.product(SPELLINGS, IDEAS))
    functions = [spelled(spelling, idea) for spelling, idea in cases]
    for (spelling, idea), function, calls in zip(cases, functions, bench.recorded(functions), strict=True):
        found, cost = bench.diagnosed(calls, function)
        tally.cost.append(cost)
        named = bool(found) and found[0].misconceptions == [idea]
        alone = named and not found[0].alternatives
        tally.exact += alone
        tally.among += named and not alone
        tally.silent += not found
        tally.other += bool(found) and not named
        if not alone:
            tally.worst.append(f"{spelling}, {idea}: {found[0].misconceptions if found else 'nothing'}")
    return _print(f"{len(IDEAS)} mistakes in {len(SPELLINGS)} harmless spellings", tally, 1.0, counts=False)


def main(pairs: int = 400, triples: int = 120) -> bool:
    """Print the figures; whether all goals are met."""
    torch.set_num_threads(1)
    print("\nNaming misconceptions")
    failing, passing = class_diagnosis.measured()
    bench = Bench()
    gc.collect()
    gc.freeze()  # else the cost of walking through all that is loaded would fall to some diagnosis by chance
    print(f"{len(bench.bank.misconceptions)} ideas in the bank, {len(bench.requests)} calls")
    names = [idea.id for idea in bench.bank.misconceptions]
    tally = Tally()
    for name, calls in zip(names, bench.recorded([bench.bank.variant(name) for name in names]), strict=True):
        bench.judged(tally, [name], calls)
    met = [_print("single ideas", tally, 1.0)]
    draw = random.Random(SEED)
    for size, words, count, goal in ((2, "pairs", pairs, 0.95), (3, "triples", triples, 0.8)):
        tally = Tally()
        every = list(_sets(bench.bank, size))
        for chosen in every if count >= len(every) else draw.sample(every, count):
            bench.judged(tally, chosen, bench.replayed(chosen))
        met.append(_print(f"{words} ({len(tally.cost)} of {len(every)})", tally, goal, counts=size < 3))
    say("the made-up class: failing submissions", str(len(failing)))
    met.append(_print_cost([spent for spent, _ in failing]))
    for spent, line in sorted(failing, reverse=True)[:WORST]:
        print(f"      {spent:.0f} ms: {line}")
    say("    most for one that passes everything", f"{max(passing):.2f} ms", "goal: nothing")
    _by_hand(bench)
    met.append(_spelt(bench))
    met.append(_outside(bench))
    say("all goals of the diagnosis are", "met" if all(met) else "NOT MET")
    return all(met)


if __name__ == "__main__":
    sys.exit(not main(*map(int, sys.argv[1:3])))
