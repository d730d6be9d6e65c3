"""Whether a misconception of the bank can be named: its own answers are diagnosed, as a student's would be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from grader.call import Call
from grader.diagnosis import crashes
from grader.diagnosis.diagnose import diagnose
from grader.diagnosis.inquiry import Ask
from grader.staff import Staff

SLIPS = frozenset(
    {"AssertionError", "AttributeError", "ImportError", "KeyError", "ModuleNotFoundError", "NameError"}
    | {"RecursionError", "UnboundLocalError"}
)
"""Errors of Python's that no wrong idea about tensors brings about, as wrong shapes bring about the library's."""


def slip(calls: Sequence[Call]) -> str:
    """The first error in these calls that only a slip in the bank's own code makes; "" when there is none."""
    failures = (call.failure for call in calls if call.failure is not None)
    return next((f"{one.type}: {one.message}" for one in failures if one.type in SLIPS), "")


def said_instead(idea: str, calls: Sequence[Call], staff: Staff, ask: Ask) -> str:
    """What is said about the answers of a function that holds this idea, if not its name; "" when that is said.

    Where every call ends in an error, words for that kind of error will do.
    """
    if staff.bank is None:
        return ""
    found = diagnose(calls, staff.bank, staff.bounds, ask=ask)
    names = [[*one.misconceptions, *itertools.chain(*one.alternatives)] for one in found]
    stopped = all(call.failure is not None for call in calls)
    if any(idea in said or (stopped and crashes.known(said)) for said in names):
        return ""
    return ", ".join(said[0] for said in names) or "nothing"
