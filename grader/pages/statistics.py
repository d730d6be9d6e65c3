"""Figures about a class: how its scores spread and what each check tells apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

BINS = 10


def histogram(shares: Sequence[float]) -> list[int]:
    """How many of the shares (0 to 1) lie in each tenth; full marks count in the last."""
    counts = [0] * BINS
    for share in shares:
        counts[min(BINS - 1, max(0, int(share * BINS + 1e-9)))] += 1
    return counts


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle; 0 of nothing."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if not ordered:
        return 0.0
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def point_biserial(passed: Sequence[bool], rest: Sequence[float]) -> float | None:
    """The correlation (-1 to 1) between passing one check and the points from all the other checks.

    The check's own points are left out of `rest`, or every check would seem to agree with the score a little.
    None where nothing can be said: everybody or nobody passed, all have the same rest, or fewer than three people.
    Source: F. Lord and M. Novick, Statistical Theories of Mental Test Scores, 1968, section 15.5.
    """
    count = len(rest)
    with_pass = [value for value, good in zip(rest, passed, strict=True) if good]
    if count < 3 or not 0 < len(with_pass) < count:
        return None
    mean = math.fsum(rest) / count
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in rest) / count)
    if spread <= 1e-9 * max(1.0, abs(mean)):
        return None
    share = len(with_pass) / count
    mean_pass = math.fsum(with_pass) / len(with_pass)
    return (mean_pass - mean) / spread * math.sqrt(share / (1 - share))
