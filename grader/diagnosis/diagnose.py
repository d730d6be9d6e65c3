"""Name the misconceptions: the fewest wrong ideas that reproduce every number the student's code produced.

Sets of one idea are tried first, then of two, then of three. A set must fit every recorded call: the numbers,
where they are NaN or infinite, how a call failed, what it left behind, its gradients. Where several sets fit
equally, the student's code is asked one more call on which they differ. Where nothing fits, nothing is said.
"""

from __future__ import annotations

import contextlib
import gc
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from grader.call import Call
from grader.diagnosis import crashes
from grader.diagnosis.inquiry import Ask, Inquiry
from grader.diagnosis.whatif import Bounds
from grader.misconception import Bank
from grader.results import DiagnosisResult

APART = frozenset(
    {
        "none",
        "truth",
        "bool wanted",
        "bool inverted",
        "bool condition",
        "bool subtracted",
        "whole numbers",
        "overflow",
        "leaf",
        "overlap",
        "dtype",
    }
    | {"device", "device named", "numpy device", "numpy gradient", "gradient"}
)
"""Families of crashes that are a matter of their own: the numbers of the calls that went well have their own cause."""
CRASHES = 2
"""Kinds of crash that are explained beside a diagnosis."""


def diagnose(
    calls: Sequence[Call], bank: Bank, bounds: Bounds | None = None, *, ask: Ask | None = None
) -> list[DiagnosisResult]:
    """What explains the calls of a submission that failed, or nothing.

    Args:
        calls: all recorded calls, those that went well included.
        bank: the wrong ideas; its default settings are the reference.
        bounds: see `Bounds`; without it a few roundings of each number are allowed.
        ask: calls the student's function on further inputs.
    Returns at most one set of misconceptions, and beside it what explains the crashes that the set does not.
    """
    with torch.inference_mode(), np.errstate(all="ignore"), warnings.catch_warnings(), _uncollected():
        warnings.simplefilter("ignore")  # wrong ideas make the library warn, as they should
        return _diagnosed(calls, bank, bounds, ask)


def _diagnosed(calls: Sequence[Call], bank: Bank, bounds: Bounds | None, ask: Ask | None) -> list[DiagnosisResult]:
    inquiry = Inquiry(calls, bank, bounds, ask)
    found = inquiry.result(inquiry.records)
    if found is not None:
        return [found]
    answered = [record for record in inquiry.records if record.call.failure is None]
    failures = {crashes.family(call.failure) for call in calls if call.failure is not None}
    if answered and failures and failures <= APART:
        inquiry.apart = True
        found = inquiry.result(answered)
    return [*([found] if found else []), *_crashes(calls)]


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection: the search makes many small objects, and collecting once costs more than all of it.

    What was made must be gone by the end, or the first collection after it walks through everything.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _crashes(calls: Sequence[Call]) -> list[DiagnosisResult]:
    """What explains the exceptions, one result for each kind."""
    found: dict[str, DiagnosisResult] = {}
    for call in calls:
        explained = crashes.explain(call.failure) if call.failure is not None else None
        if explained is not None:
            found.setdefault(explained.misconceptions[0], explained)
    return list(found.values())[:CRASHES]
