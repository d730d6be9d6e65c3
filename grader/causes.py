"""The likeliest cause of what was lost: the same for pages, sheets and the table on the terminal."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.results import CheckResult, DiagnosisResult, Place, Report

MANY = 3
"""So many checks must fail for one reason before that comes before the first failure."""
EXPLAINED = "explained"
"""The `reason` of checks that fail for what the diagnosis says, or for another way of calling than theirs."""


@dataclass(frozen=True)
class Cause:
    """One thing to mend."""

    kind: Literal["fault", "problem", "convention", "diagnosis", "same", "check"]
    title: str = ""
    """Of the diagnosis or of the check; "" for the others."""
    text: str = ""
    hint: str = ""
    place: Place | None = None
    checks: int = 0
    """How many checks failed for it, where that is what it was told by."""

    @property
    def brief(self) -> str:
        """It in one text, for a line."""
        return self.title if self.kind == "diagnosis" else self.text


def likeliest(report: Report, checks: Sequence[CheckResult]) -> Cause | None:
    """What to mend first, going by `checks` (those that the reader may see); None when none of them failed.

    A fault of ours; what keeps the code from running; another way of calling than the checks', unless it was
    translated; the diagnosis, unless something else stopped more checks; a cause of many failures; the first failure.
    Authors list their checks from the simplest to the hardest, so the first that fails is the one to mend first.
    """
    if report.status == "error":
        return Cause("fault")
    if report.problem:
        return Cause("problem", text=report.problem, place=report.place)
    failed = [check for check in checks if check.status == "failed"]
    if not failed:
        return None
    if report.conventions and not report.translated:
        return Cause("convention", text=" ".join(report.conventions), place=report.place)
    groups: dict[Hashable, list[CheckResult]] = {}
    for check in failed:
        groups.setdefault(reason_of(check), []).append(check)
    common = max(groups.values(), key=len)
    if report.diagnoses and not _outweighed(report.diagnoses[0], failed, common):
        found = report.diagnoses[0]
        return Cause("diagnosis", found.title, found.hint or found.explanation, place=found.place)
    first, *_ = same = common if len(common) >= MANY else groups[reason_of(failed[0])]
    kind: Literal["same", "check"] = "same" if len(same) >= MANY else "check"
    return Cause(kind, first.title.rstrip("."), first.message, shared_hint(same), first.place, len(same))


def _outweighed(found: DiagnosisResult, failed: Sequence[CheckResult], common: Sequence[CheckResult]) -> bool:
    """Whether what is known of one line explains less than something else that stopped many checks, such as a loop that
    never ends. What explains the numbers comes first in any case: it fits every call."""
    if found.place is None or common[0].reason == EXPLAINED or common[0].place == found.place:
        return False
    return len(common) >= MANY and len(common) > sum(check.place == found.place for check in failed)


def reason_of(check: CheckResult) -> Hashable:
    """What two checks share when one explanation does for both: a cause, the line that stopped them, or the words."""
    if check.reason:
        return check.reason
    if check.pictures:
        return check.id
    if check.status == "failed" and check.place is not None:
        return (check.place.file, check.place.cell, check.place.line)
    return (check.status, check.message, check.hint)


def shared_hint(checks: Sequence[CheckResult]) -> str:
    """The hint of checks with one reason; "" when theirs differ, because then none of them is about that reason."""
    return checks[0].hint if len({check.hint for check in checks}) == 1 else ""
