"""What is expected of the same inputs is worked out once, and nobody can tell by the numbers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.kept import kept

X = torch.arange(6.0).reshape(2, 3)


class Counted:
    """Adds up its arguments, and counts how often it was really called."""

    def __init__(self) -> None:
        self.times = 0
        self.look_up = kept(self.call)

    def call(self, x: Tensor, *, by: object = 1) -> Tensor:
        self.times += 1
        return x + 1


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        ({"x": X}, {"x": X.clone()}, False),
        ({"x": X}, {"x": X + 1}, True),
        ({"x": X}, {"x": X.double()}, True),
        ({"x": X}, {"x": X.reshape(3, 2)}, True),
        ({"x": torch.ones(2, 2)}, {"x": torch.ones(2, 2).T}, True),
        ({"x": torch.zeros(1)}, {"x": -torch.zeros(1)}, True),
        ({"x": torch.tensor(torch.nan)}, {"x": torch.tensor(torch.nan)}, False),
        ({"x": X.bfloat16()}, {"x": X.bfloat16()}, False),
        ({"x": torch.empty(0)}, {"x": torch.empty(0)}, False),
        ({"x": X, "by": 1}, {"x": X, "by": True}, True),
        ({"x": X, "by": [X]}, {"x": X, "by": (X,)}, True),
        ({"x": X, "by": [X, 2]}, {"x": X, "by": [X, 2]}, False),
        ({"x": X, "by": {1}}, {"x": X, "by": {1}}, True),
        ({"x": torch.ones(1, dtype=torch.complex64).conj()}, {"x": torch.ones(1, dtype=torch.complex64)}, True),
        ({"x": X.clone().requires_grad_()}, {"x": X.clone().requires_grad_()}, True),
    ],
)
def test_a_result_is_kept_for_the_same_bits_only(
    first: dict[str, object], second: dict[str, object], again: bool
) -> None:
    """Another number, dtype, shape, layout, sign of zero or kind of value is another argument."""
    counted = Counted()
    counted.look_up(**first)
    result = counted.look_up(**second)
    assert counted.times == 1 + again
    assert torch.equal(result.nan_to_num(), (second["x"] + 1).nan_to_num())  # type: ignore[operator]


def test_what_somebody_wrote_into_is_worked_out_again() -> None:
    """A check that changes an expected value in place spoils it for nobody else."""
    counted = Counted()
    counted.look_up(X).zero_()
    assert torch.equal(counted.look_up(X), X + 1)
    assert counted.times == 2
