"""Generated hostile submissions, a few of the many that `python -m tests.hostile.fuzz 1000` grades."""

from __future__ import annotations

from grader.sandbox.zygote import Zygote
from tests.hostile import fuzz


def test_every_generated_submission_ends_with_a_result(from_scratch: Zygote) -> None:
    """Mutated bytes, mutated syntax trees, broken notebooks and random control flow: a result each, no grader fault."""
    assert fuzz.run(from_scratch, 24, seed=1) == []
