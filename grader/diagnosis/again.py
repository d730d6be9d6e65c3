"""The same answers are explained once: in a class many make the same mistake, and give the same numbers bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.call import Call, Digests
from grader.diagnosis.diagnose import diagnose
from grader.diagnosis.inquiry import Ask
from grader.diagnosis.whatif import Bounds
from grader.misconception import Bank, Inputs
from grader.results import DiagnosisResult

KEPT = 200
"""Explanations of each variant."""


@dataclass(frozen=True)
class Explained:
    """What was found, and the further calls that it took: what was asked, and the digest of each reply."""

    asked: tuple[tuple[Inputs, bytes], ...]
    found: tuple[DiagnosisResult, ...]


def explain(
    known: dict[Digests, Explained], calls: Sequence[Call], bank: Bank, bounds: Bounds | None, ask: Ask
) -> list[DiagnosisResult]:
    """What `diagnose` finds. `known`: what it found before, for calls with the same inputs; it grows.

    A diagnosis depends on the calls and on the answers to what it asks further. So that is asked again, and where it
    is answered otherwise than before, the diagnosis goes on with the new answers.
    """
    answers = tuple(call.digest for call in calls)
    repeated: list[Call] = []
    before = known.get(answers)
    if before is not None:
        for inputs, digest in before.asked:
            repeated.append(ask(*inputs))
            if repeated[-1].digest != digest:
                break
        else:
            return list(before.found)
    made: list[tuple[Inputs, bytes]] = []

    def put(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        call = repeated.pop(0) if repeated else ask(args, kwargs)
        made.append(((args, kwargs), call.digest))
        return call

    found = diagnose(calls, bank, bounds, ask=put)
    if all(answers) and all(digest for _, digest in made):  # else a time-out, say, which need not come again
        if len(known) >= KEPT:
            known.clear()
        known[answers] = Explained(tuple(made), tuple(found))
    return found
