"""Explain an exception of the student's code by its kind: authored words, never the exception's own text.

A kind is recognised by the exception's type and message, and some by the line on which it happened. Several
kinds that differ by the line only share a family: what the diagnosis compares a replayed failure with.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from grader.call import Failure
from grader.diagnosis.crash_kind import Kind
from grader.diagnosis.crash_kinds import KINDS
from grader.entry import Entry
from grader.results import DiagnosisResult
from grader.sandbox.words import IMPORTS

APART = frozenset(
    {"name", "stub", "import", "overflow", "device", "device named", "numpy device"}
    | {"numpy gradient", "leaf", "overlap", "gradient", "recursion"}
)
"""Families that the wrong arguments, or another form of answer, never bring about."""
_FAMILIES = {kind.id: kind.family for kind in KINDS}
MESSAGE = 600
"""Characters of a message that are looked at."""


def kind_of(failure: Failure) -> Kind | None:
    """The first kind that fits, most special first; None when none does or the call did not end in an exception."""
    if failure.kind != "exception":
        return None
    return _kind(failure.type, failure.message[:MESSAGE], failure.place.text if failure.place else "")


@functools.lru_cache(maxsize=1024)
def _kind(type: str, message: str, line: str) -> Kind | None:
    for kind in KINDS:
        if type in kind.types and re.search(kind.message, message) and re.search(kind.line, line):
            return kind
    return None


def family(failure: Failure) -> str:
    """What two failures must share to count as the same: the kind's family, or else the exception's type."""
    kind = kind_of(failure)
    return kind.family if kind else f"{failure.kind} {failure.type}"


def known(misconceptions: Sequence[str]) -> bool:
    """Whether these are kinds of crash, and no wrong ideas of an assignment's."""
    return all(one in _FAMILIES for one in misconceptions)


def follows(misconceptions: Sequence[str]) -> bool:
    """Whether these are kinds of crash that another way of calling the function may bring about."""
    return known(misconceptions) and all(_FAMILIES[one] not in APART for one in misconceptions)


def explain(failure: Failure, entry: Entry | None = None) -> DiagnosisResult | None:
    """What went wrong on the student's line, in words that let it be mended. None when the kind is not known."""
    kind = kind_of(failure)
    if kind is None:
        return None
    name = re.search(r"name '(\w+)'", failure.message)
    arguments = f"({', '.join(entry.arguments)})" if entry else "the arguments in the handout"
    line = IMPORTS.get(name[1], "import ...") if name else "import ..."
    hint = kind.hint.replace("{import}", line).replace("{arguments}", arguments)
    title = kind.title[:1].upper() + kind.title[1:]
    return DiagnosisResult(
        misconceptions=[kind.id],
        titles=[title],
        title=title,
        explanation=kind.explanation,
        hint=hint,
        evidence=f"{failure.type}: {failure.message[:200]}",
        place=failure.place,
    )
