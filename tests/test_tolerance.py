"""Tolerances hold for every order of operations, and for nothing much worse."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

from grader import staff, tolerance
from grader.assignment import load

ROOT = Path(__file__).resolve().parent.parent

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@pytest.fixture(scope="module")
def attention() -> dict[str, ModuleType]:
    """The staff modules of the attention assignment."""
    staff.load(load("attention", ROOT))
    return {name: importlib.import_module(name) for name in ("bounds", "alternatives", "cheats")}


def formula(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    weights = torch.softmax(scores if mask is None else scores.masked_fill(mask == 0, -math.inf), -1)
    return weights @ V, weights


def question(dtype: torch.dtype, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    torch.manual_seed(seed)
    Q, K, V = (torch.randn(2, 3, *sizes).to(dtype) for sizes in ((5, 6), (7, 6), (7, 4)))
    return Q, K, V, torch.ones(5, 7).tril() if seed % 2 else None


def worst(got: tuple[Tensor, ...], want: tuple[Tensor, ...], limits: tuple[Tensor, ...]) -> float:
    """The largest error in units of its bound."""
    errors = [(a.double() - b).abs() for a, b in zip(got, want, strict=True)]
    return max(float(torch.where(e == 0, 0.0, e / limit).max()) for e, limit in zip(errors, limits, strict=True))


@pytest.mark.parametrize(
    ("dtype", "power"), [(torch.float64, 53), (torch.float32, 24), (torch.float16, 11), (torch.bfloat16, 8)]
)
def test_unit_roundoff_is_where_one_stops_growing(dtype: torch.dtype, power: int) -> None:
    """Half the distance from 1 to the next number: adding that much to 1 is lost, adding more is not."""
    u = tolerance.unit_roundoff(dtype)
    one = torch.ones((), dtype=dtype)
    assert u == 2.0**-power
    assert one + torch.tensor(u, dtype=dtype) == one
    assert one + torch.tensor(2 * u, dtype=dtype) > one


def test_gamma_refuses_to_promise_what_it_cannot() -> None:
    """With so many roundings of so coarse a dtype there is no bound, and the author is told what to change."""
    with pytest.raises(ValueError, match="shorter sum or a finer dtype"):
        tolerance.gamma(300, tolerance.unit_roundoff(torch.bfloat16))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sum_in_the_worst_order_stays_under_the_bound(dtype: torch.dtype) -> None:
    """Adding term by term, each rounded, is as bad as it gets; the bound of a product covers it."""
    torch.manual_seed(1)
    left, right = torch.randn(8, 40).to(dtype), torch.randn(40, 9).to(dtype)
    total = torch.zeros(8, 9, dtype=dtype)
    for k in range(40):
        total = total + left[:, k, None] * right[None, k]
    error = (total.double() - left.double() @ right.double()).abs()
    assert bool((error <= tolerance.product_bound(left.double(), right.double(), dtype)).all())


@pytest.mark.parametrize("dtype", DTYPES)
def test_right_answers_stay_under_the_bounds(attention: dict[str, ModuleType], dtype: torch.dtype) -> None:
    """In every dtype, with and without a mask, each right route is well inside: no right answer is ever at risk."""
    loses = attention["alternatives"].LOSES
    for seed in (1, 2):
        Q, K, V, mask = question(dtype, seed)
        want, limits = formula(Q.double(), K.double(), V.double(), mask), attention["bounds"].bounds(Q, K, V, mask)
        sums = attention["bounds"].row_sum_bound(Q, K, mask)
        for name in ("plain_formula", "log_sum_exp", "renormalised", "epsilon", "in_float32", *loses):
            answer = getattr(attention["alternatives"], name)(Q, K, V, mask)
            assert answer[0].dtype == answer[1].dtype == dtype
            assert worst(answer, want, limits) < 0.5, name
            assert worst((answer[1].double().sum(-1),), (torch.ones(()),), (sums,)) < 0.5, name


def test_the_next_coarser_dtype_fails_the_bounds(attention: dict[str, ModuleType]) -> None:
    """float64 in, float32 inside is caught; so is float32 in, half precision inside; and rounding to four digits."""
    for dtype, inside in ((torch.float64, torch.float32), (torch.float32, torch.float16)):
        Q, K, V, mask = question(dtype, 3)
        want, limits = formula(Q.double(), K.double(), V.double(), mask), attention["bounds"].bounds(Q, K, V, mask)
        coarse = formula(Q.to(inside), K.to(inside), V.to(inside), mask)
        assert worst(coarse, want, limits) > 3
    rounded = attention["cheats"].rounded_to_four_digits(Q, K, V, mask)
    assert worst(rounded, want, limits) > 3


def test_masked_weights_have_no_room_at_all(attention: dict[str, ModuleType]) -> None:
    """The bound of a masked weight is exactly 0."""
    Q, K, V, mask = question(torch.float32, 1)
    assert mask is not None
    limits = attention["bounds"].bounds(Q, K, V, mask)
    assert bool((limits[1][..., mask == 0] == 0).all())
    assert bool((limits[1][..., mask != 0] > 0).all())


def test_gradients_of_right_routes_stay_under_their_bounds(attention: dict[str, ModuleType]) -> None:
    """Also where a shift or a second division leaves rounding that the formula does not have."""
    Q, K, V, mask = question(torch.float32, 5)
    given = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 7)
    q, k, v = (x.double().requires_grad_() for x in (Q, K, V))
    want = torch.autograd.grad(formula(q, k, v, mask), (q, k, v), [x.double() for x in given])
    limits = attention["bounds"].gradient_bounds(Q, K, V, mask, *given)
    for name in ("plain_formula", "own_softmax", "shift_by_largest_of_all", "renormalised", "one_by_one"):
        sources = [x.clone().requires_grad_() for x in (Q, K, V)]
        got = torch.autograd.grad(getattr(attention["alternatives"], name)(*sources, mask), sources, given)
        assert worst(got, want, limits) < 0.5, name
    assert worst(tuple(1.001 * x for x in want), want, limits) > 3
