"""Figures about a class."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.pages.statistics import histogram, median, point_biserial


def test_the_histogram_counts_everybody_once_and_full_marks_last() -> None:
    """0 %, a bound between two bars, and 100 %."""
    assert histogram([0.0, 0.05, 0.1, 0.3, 0.95, 1.0]) == [2, 1, 0, 1, 0, 0, 0, 0, 0, 2]


def test_the_median_of_nothing_is_zero() -> None:
    """A class without submissions still has a page."""
    assert median([]) == 0
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 100)), min_size=3))
def test_point_biserial_is_the_correlation_with_zero_and_one(pairs: list[tuple[bool, int]]) -> None:
    """The shortcut formula agrees with Pearson's, or nothing can be said."""
    passed = [good for good, _ in pairs]
    rest = [float(points) for _, points in pairs]
    made = point_biserial(passed, rest)
    if len(set(passed)) < 2 or len(set(rest)) < 2:
        assert made is None
    else:
        assert made == pytest.approx(statistics.correlation([float(good) for good in passed], rest), abs=1e-6)
