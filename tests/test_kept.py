"""What is expected of the same inputs is worked out once, and nobody can tell by the numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grader.kept import kept

X = torch.arange(6.0).reshape(2, 3)


def quantised(x: Tensor, *, scale: float) -> Tensor:
    """Small whole numbers that stand for others: the same ones for twice as much, at twice the scale."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library is giving them up
        return torch.quantize_per_tensor(x, scale, 0, torch.quint8)


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
        ({"x": X, "by": 0.0}, {"x": X, "by": -0.0}, True),
        ({"x": X, "by": torch.Generator()}, {"x": X, "by": torch.Generator()}, True),
        ({"x": torch.tensor(torch.nan)}, {"x": torch.tensor(torch.nan)}, False),
        ({"x": X.bfloat16()}, {"x": X.bfloat16()}, False),
        ({"x": torch.empty(0)}, {"x": torch.empty(0)}, False),
        ({"x": X, "by": 1}, {"x": X, "by": True}, True),
        ({"x": X, "by": [X]}, {"x": X, "by": (X,)}, True),
        ({"x": X, "by": [X, 2]}, {"x": X, "by": [X, 2]}, False),
        ({"x": X, "by": {1}}, {"x": X, "by": {1}}, True),
        ({"x": torch.ones(1, dtype=torch.complex64).conj()}, {"x": torch.ones(1, dtype=torch.complex64)}, True),
        ({"x": X.clone().requires_grad_()}, {"x": X.clone().requires_grad_()}, True),
        ({"x": X, "by": quantised(X, scale=1.0)}, {"x": X, "by": quantised(2 * X, scale=2.0)}, True),
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


@pytest.mark.parametrize(
    "write",
    [
        lambda result: result.zero_(),
        lambda result: result.data.zero_(),
        lambda result: result.numpy().fill(0),
        lambda result: result.requires_grad_(),
        lambda result: result.resize_(1),
    ],
    ids=["in place", "through data", "through numpy", "a gradient", "its size"],
)
def test_what_somebody_writes_into_a_result_nobody_else_sees(write: Callable[[Tensor], object]) -> None:
    """A check that changes an expected value, in whatever way, spoils it for nobody else."""
    counted = Counted()
    write(counted.look_up(X))
    again = counted.look_up(X)
    assert torch.equal(again, X + 1)
    assert not again.requires_grad
    assert counted.times == 1


def test_an_argument_that_is_given_back_is_not_kept_itself() -> None:
    """What becomes of an argument later does not reach what was kept."""
    x = torch.ones(2)
    same = kept(lambda x: x)
    same(x)
    x.zero_()
    assert torch.equal(same(torch.ones(2)), torch.ones(2))


def test_what_the_search_for_explanations_worked_out_can_be_used_like_any_other() -> None:
    """A result that came in inference mode is an ordinary one for a check that writes into it or wants a gradient."""
    counted = Counted()
    with torch.inference_mode():
        counted.look_up(X)
    result = counted.look_up(X).add_(1).requires_grad_()
    result.mul(result).sum().backward()
    assert torch.equal(result.grad, 2 * (X + 2))
    assert counted.times == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nn.functional.dropout(x),
        lambda x: x * torch.ones(1, requires_grad=True),
        lambda x: {"y": x},
    ],
    ids=["random", "with a graph", "of another kind"],
)
def test_what_can_not_be_repeated_is_worked_out_each_time(function: Callable[[Tensor], object]) -> None:
    """Random numbers are drawn each time, so that those of the check that follow are always the same."""
    times = []
    look_up = kept(lambda x: (times.append(1), function(x))[1])
    look_up(X), look_up(X)
    assert len(times) == 2
