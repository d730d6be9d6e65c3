"""What the checks are worth in two runs: points that an author moved are said once, and make nobody better or worse."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.pages.summary import number
from grader.results import Report


@dataclass
class Worth:
    """The points that can be reached, where the two runs differ in them."""

    maxima: set[tuple[float, float]] = field(default_factory=set)
    """(before, after); one pair, unless submissions were graded under different assignments."""
    checks: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    """Check id -> what it was worth and is; None where the run has no such check."""

    def add(self, old: Report, new: Report) -> None:
        """Take in the two results of one submission."""
        before = {check.id: check.max_score for check in old.checks}
        after = {check.id: check.max_score for check in new.checks}
        if before != after:
            self.maxima.add((old.max_score, new.max_score))
        for name in dict.fromkeys([*before, *after]):
            pair = before.get(name), after.get(name)
            if pair[0] != pair[1]:
                self.checks[name] = pair

    def in_words(self) -> list[str]:
        """A sentence on the maximum and on the checks whose points changed; nothing where none did."""
        changes = ", ".join(_change(name, *pair) for name, pair in self.checks.items())
        return [
            f"The maximum changed from {number(before)} to {number(after)}. Points of checks: {changes}."
            if before != after
            else f"The maximum is {number(before)} as before. Points of checks: {changes}."
            for before, after in sorted(self.maxima)
        ]


def _change(name: str, before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return f"{name} {'no longer there' if after is None else f'new, {number(after)}'}"
    return f"{name} {number(before)} → {number(after)}"
