"""A student who holds a known wrong idea is told which one; a student who does not is told nothing false."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.answered import answered
from bench.composites import COMPOSITES
from bench.spellings import spelled
from grader import assignment, staff
from grader.call import Call, Failure, Layout
from grader.diagnosis import node
from grader.diagnosis.diagnose import diagnose
from grader.errors import AssignmentError
from grader.misconception import Bank, Misconception, passes
from grader.results import DiagnosisResult, Place

ROOT = Path(__file__).resolve().parent.parent
STAFF = staff.load(assignment.load("attention", ROOT))
assert STAFF.bank is not None
BANK: Bank = STAFF.bank
IDEAS = [idea.id for idea in BANK.misconceptions]
ON_CPU, ON_GPU = (Layout("cpu", (), False),) * 2, (Layout("gpu", (), False),) * 2


def qkv(*lead: int, tq: int = 5, tk: int = 7, dk: int = 6, dv: int = 4, dtype: torch.dtype = torch.float32) -> Any:
    return (
        torch.randn(*lead, tq, dk).to(dtype),
        torch.randn(*lead, tk, dk).to(dtype),
        torch.randn(*lead, tk, dv).to(dtype),
    )


def requests() -> list[Call]:
    """Calls such as hidden checks make, without answers."""
    torch.manual_seed(3)
    causal = torch.ones(5, 7, dtype=torch.bool).tril()
    square = torch.ones(6, 6).tril()
    scattered = (torch.rand(2, 3, 5, 7) < 0.6).int().index_fill(-1, torch.tensor([2]), 1)
    empty = scattered.clone()
    empty[0, :, 2] = 0
    padding = (torch.arange(7) < torch.tensor([[5], [3]])).reshape(2, 1, 1, 7).float()
    loud = qkv(2, 3)
    tracked = tuple(x.requires_grad_() for x in qkv(2, 3))
    calls = [
        Call((*qkv(2, 3), None), {}, "cpu"),
        Call(qkv(2, 3, dk=4), {}, "cpu"),
        Call((*qkv(2, 3, dtype=torch.float64), causal), {}, "cpu"),
        Call((*qkv(2, 3, tq=6, tk=6, dk=5), square), {}, "cpu"),
        Call((*qkv(3), causal), {}, "cpu"),
        Call((*qkv(), causal.int()), {}, "cpu"),
        Call((*qkv(2, 3), scattered), {}, "cpu"),
        Call((*qkv(2, 3), padding), {}, "cpu"),
        Call((*qkv(2, 3), empty), {}, "cpu"),
        Call((40 * loud[0], 40 * loud[1], loud[2]), {}, "cpu"),
        Call((*qkv(2, 3, dtype=torch.bfloat16), causal), {}, "cpu"),
        Call((*tracked, scattered), {}, "cpu", cotangents=(torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 7))),
        Call((*qkv(2, 3), padding), {}, "gpu"),
    ]
    return [replace(call, layouts=ON_GPU if call.device == "gpu" else ON_CPU) for call in calls]


REQUESTS = requests()
Function = Callable[..., Any]


def knobs_of(*names: str, **more: Any) -> dict[str, Any]:
    return {key: value for name in names for key, value in BANK[name].knobs.items()} | more


def held(*names: str, **more: Any) -> list[Call]:
    """What a function that holds these ideas answers to the requests."""
    return [answered(BANK, request, knobs_of(*names, **more)) for request in REQUESTS]


def called(function: Function, requests: Sequence[Call] = REQUESTS) -> list[Call]:
    """What any function answers, on the CPU and without gradients."""
    return [called_once(function, call.args, call.kwargs) for call in requests if call.device == "cpu"]


def called_once(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    fresh = tuple(item.detach().clone() if isinstance(item, Tensor) else item for item in args)
    after = tuple(item for item in fresh if isinstance(item, Tensor))
    args = tuple(item.detach() if isinstance(item, Tensor) else item for item in args)
    try:
        return Call(args, kwargs, "cpu", output=function(*fresh, **kwargs), after=after, layouts=ON_CPU)
    except Exception as error:
        place = Place(file="attention.py", line=7)
        return Call(args, kwargs, "cpu", failure=Failure("exception", type(error).__name__, str(error), place))


def asking(*names: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Call]:
    """Answers further questions as a function that holds these ideas."""
    function = BANK.variant(*names)
    return lambda args, kwargs: called_once(function, args, kwargs)


def one(found: list[DiagnosisResult]) -> DiagnosisResult:
    assert len(found) == 1
    return found[0]


# --- what is named ---


@pytest.mark.parametrize("name", IDEAS[::3])
def test_each_idea_alone_is_named_as_itself(name: str) -> None:
    """Whoever holds one wrong idea of the bank reads its name, and no other (bench.diagnosis tries all of them)."""
    found = one(diagnose(held(name), BANK, STAFF.bounds, ask=asking(name)))
    assert (found.misconceptions, found.alternatives) == ([name], [])


@pytest.mark.parametrize(
    "names",
    [
        ("not_scaled", "softmax_over_queries"),
        ("mask_inverted", "scaled_by_dk"),
        ("mask_required", "not_scaled"),
        ("softmax_twice", "query_scaled_in_place"),
        ("values_scaled", "keys_detached"),
        ("own_mask_ahead", "masked_after_softmax"),
        ("weights_filled_low", "weights_before_mask"),
        ("mask_times_infinity", "scores_detached"),
        ("key_scaled_in_place", "numpy_inside"),
        ("dropout_left_on", "loop_stops_early"),
        ("not_scaled", "softmax_over_queries", "filled_with_zero"),
    ],
)
def test_several_ideas_at_once_are_all_named(names: tuple[str, ...]) -> None:
    """Two or three wrong ideas in one submission are told apart."""
    torch.manual_seed(4)  # for what is dropped
    assert set(one(diagnose(held(*names), BANK, STAFF.bounds, ask=asking(*names))).misconceptions) == set(names)


@pytest.mark.parametrize(
    ("names", "function"),
    [case for case in COMPOSITES if not {"scores_detached"} & set(case[0])],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_code_in_another_style_gets_the_same_names(names: tuple[str, ...], function: Function) -> None:
    """Loops, einsum or NumPy-like code: what counts are the numbers."""
    torch.manual_seed(5)
    ask = lambda args, kwargs: called_once(function, args, kwargs)  # noqa: E731
    assert set(one(diagnose(called(function), BANK, STAFF.bounds, ask=ask)).misconceptions) == set(names)


def test_right_but_different_styles_do_not_hide_an_idea() -> None:
    """-1e9 in place of -inf, or NaN turned into 0, is right: the wrong idea beside it is still found."""
    for style in ({"low": -1e9}, {"empty": "zero"}, {"low": -1e4, "low_added": True}):
        found = one(diagnose(held("not_scaled", **style), BANK, STAFF.bounds))
        assert found.misconceptions == ["not_scaled"]


def test_another_constant_is_the_same_idea() -> None:
    """A fixed √32 is as wrong as a fixed √64."""
    found = one(diagnose(held(scale=math.sqrt(32)), BANK, STAFF.bounds))
    assert found.misconceptions == ["scaled_by_constant"]


def test_the_crash_that_an_idea_predicts_points_at_the_line() -> None:
    """A missing test for None is named, with the student's line."""
    found = one(diagnose(called(BANK.variant("mask_required")), BANK, STAFF.bounds))
    assert found.misconceptions == ["mask_required"]
    assert found.place == Place(file="attention.py", line=7)


def test_a_crash_with_another_cause_is_explained_beside_the_idea() -> None:
    """Wrong numbers and a crash on the accelerator: both are said."""

    def function(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
        if Q.dtype == torch.bfloat16:
            raise RuntimeError("expected m1 and m2 to have the same dtype")
        return BANK.variant("not_scaled")(Q, K, V, mask)

    found = diagnose(called(function), BANK, STAFF.bounds)
    assert [result.misconceptions for result in found] == [["not_scaled"], ["crash_dtype"]]


def test_a_lone_tensor_is_compared_with_the_first_value() -> None:
    """Who returns the output only still learns what is wrong with it."""
    calls = [replace(call, output=call.output[0], gradients=None) for call in held("not_scaled")]
    assert one(diagnose(calls, BANK, STAFF.bounds)).misconceptions == ["not_scaled"]


SPELT = (
    "root of a tensor",
    "item of a root",
    "times the inverse root",
    "softmax in float32",
    "exp over sum, epsilon",
    "added",
    "root of a tensor, -1e9",
)


@pytest.mark.parametrize("idea", ["mask_ignored", "filled_with_zero", "softmax_over_queries"])
@pytest.mark.parametrize("spelling", SPELT)
def test_a_harmless_spelling_does_not_hide_a_mistake(spelling: str, idea: str) -> None:
    """A root in float32 is off by 1e-8 where the inputs are float64, and passes: what is wrong beside it is named."""
    function = spelled(spelling, idea)

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return called_once(function, args, kwargs)

    found = one(diagnose(called(function), BANK, STAFF.bounds, ask=ask))
    assert (found.misconceptions, found.alternatives) == ([idea], [])


def test_computing_in_float32_is_still_told_from_a_harmless_spelling() -> None:
    """Beside another mistake, float32 throughout is named as well where it gives every number exactly."""
    names = ("mask_ignored", "computed_in_float32")
    assert set(one(diagnose(held(*names), BANK, STAFF.bounds, ask=asking(*names))).misconceptions) == set(names)


# --- where nothing is said ---


@pytest.mark.parametrize("spelling", SPELT)
def test_nothing_is_said_about_a_harmless_spelling_alone(spelling: str) -> None:
    """Roundings to float32 are nobody's idea."""
    assert diagnose(called(spelled(spelling)), BANK, STAFF.bounds) == []


@pytest.mark.parametrize("style", [{}, {"low": -1e9}, {"empty": "zero"}], ids=["plain", "large fill", "no NaN"])
def test_nothing_is_said_about_right_answers(style: dict[str, Any]) -> None:
    """A correct function holds no wrong idea."""
    assert diagnose(held(**style), BANK, STAFF.bounds) == []


def test_nothing_is_said_about_mistakes_that_nobody_thought_of() -> None:
    """Silence is better than a wrong name."""

    def function(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
        output, weights = BANK.variant()(Q, K, V, mask)
        return output + 0.01 * Q.mean(), weights

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return called_once(function, args, kwargs)

    assert diagnose(called(function), BANK, STAFF.bounds, ask=ask) == []


def test_a_single_deviating_number_forbids_the_name() -> None:
    """Every number of every call has to be reproduced."""
    calls = held("not_scaled")
    output, weights = calls[3].output
    output = output.clone()
    output[0, 0, 0, 0] += 1e-3
    calls[3] = replace(calls[3], output=(output, weights))
    assert diagnose(calls, BANK, STAFF.bounds) == []


def test_calls_that_all_fail_in_a_common_way_get_no_name() -> None:
    """Shapes that do not fit have many causes: the crash is explained, no idea is guessed."""

    def function(*_: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (30x7 and 5x7)")

    assert [result.misconceptions for result in diagnose(called(function), BANK, STAFF.bounds)] == [["crash_shapes"]]


def test_nan_everywhere_is_not_explained_by_two_ideas() -> None:
    """NaN has many causes; a pair that happens to give NaN too proves nothing."""

    def function(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
        output, weights = BANK.variant()(Q, K, V, mask)
        return output * math.nan, weights * math.nan

    assert diagnose(called(function), BANK, STAFF.bounds) == []


# --- sets that fit equally ---


def test_further_calls_tell_apart_what_fits_equally() -> None:
    """Dimension 1 and no dimension are the same for four dimensions: a question with three decides."""
    calls = [call for call in held("softmax_over_dim_1") if call.inputs[0].dim() == 4]
    asked: list[int] = []

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        asked.append(args[0].dim())
        return asking("softmax_over_dim_1")(args, kwargs)

    found = one(diagnose(calls, BANK, STAFF.bounds, ask=ask))
    assert (found.misconceptions, found.alternatives) == (["softmax_over_dim_1"], [])
    assert 3 in asked


@pytest.mark.parametrize("names", [("scores_query_value", "mixes_queries"), ("elementwise_product", "mask_transposed")])
def test_two_ideas_that_stop_every_call_are_named_by_a_question_that_works(names: tuple[str, ...]) -> None:
    """Shapes that fit in no check's call fit where all sizes are equal: the numbers there tell what was believed."""
    calls = held(*names)
    assert all(call.failure is not None for call in calls)
    found = one(diagnose(calls, BANK, STAFF.bounds, ask=asking(*names)))
    assert set(found.misconceptions) == set(names)


def test_a_function_that_does_not_come_back_is_not_asked_again() -> None:
    """One question that runs out of time is enough: each further one would cost as much."""
    asked: list[int] = []

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        asked.append(1)
        return Call(args, kwargs, "cpu", failure=Failure("timeout", "TimeoutError", "too slow"))

    assert one(diagnose(held("not_scaled"), BANK, STAFF.bounds, ask=ask)).misconceptions == ["not_scaled"]
    assert len(asked) == 1


def test_failures_that_no_idea_explains_cost_no_question() -> None:
    """Who can't be called at all has no numbers to go by."""

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        raise AssertionError("asked")

    def function(*_: Any) -> Any:
        raise NameError("name 'np' is not defined")

    found = diagnose(called(function), BANK, STAFF.bounds, ask=ask)
    assert [result.misconceptions for result in found] == [["crash_missing_import"]]


def test_the_right_code_without_a_style_is_named_before_one_that_needs_it() -> None:
    """-1e9 times a mask of ones is what an inverted mask with -1e9 gives: the plainer explanation is named."""
    found = one(diagnose(held("mask_times_low_added"), BANK, STAFF.bounds, ask=asking("mask_times_low_added")))
    assert (found.misconceptions, found.alternatives) == (["mask_times_low_added"], [])


def test_what_cannot_be_told_apart_is_named_as_alternatives() -> None:
    """Without a further call both are named, and the words say so."""
    calls = [call for call in held("softmax_over_dim_1") if call.inputs[0].dim() == 4]
    found = one(diagnose(calls, BANK, STAFF.bounds))
    named = [found.misconceptions, *found.alternatives]
    assert ["softmax_over_dim_1"] in named
    assert ["softmax_without_dim"] in named
    assert "can't tell this from" in found.explanation


def test_the_same_calls_always_get_the_same_diagnosis() -> None:
    """What was diagnosed before has no influence."""
    calls = held("softmax_over_queries", "own_causal_mask_too")
    first = diagnose(calls, BANK, STAFF.bounds, ask=asking("softmax_over_queries", "own_causal_mask_too"))
    diagnose(held("tanh"), BANK, STAFF.bounds, ask=asking("tanh"))
    assert diagnose(calls, BANK, STAFF.bounds, ask=asking("softmax_over_queries", "own_causal_mask_too")) == first


# --- the bank ---


def test_the_bank_without_ideas_is_the_reference() -> None:
    """All knobs at their defaults give the reference's numbers, bit for bit."""
    for args, kwargs in [*BANK.probes(), *((call.args, call.kwargs) for call in REQUESTS)]:
        for mine, right in zip(BANK.variant()(*args, **kwargs), STAFF.reference(*args, **kwargs), strict=True):
            assert torch.equal(mine.nan_to_num(-7), right.nan_to_num(-7))


def test_every_idea_teaches() -> None:
    """Each has a clause for a title, an explanation, a hint without code, and a section of the handout."""
    for idea in BANK.misconceptions:
        assert idea.section, idea.id
        assert not idea.title.endswith("."), idea.id
        assert len(idea.explanation) > 60, idea.id
        assert idea.explanation.endswith("."), idea.id
        assert idea.hint.endswith(("?", ".")), idea.id
        assert not re.search(r"`|softmax\(.*dim|transpose\(-", idea.hint), idea.id


def test_a_variant_behaves_like_a_student_who_holds_the_idea() -> None:
    """In-place changes reach the caller's tensor, so that the audit can use variants as submissions."""
    Q, K, V = qkv(2, 3)
    before = Q.clone()
    BANK.variant("query_scaled_in_place")(Q, K, V)
    assert torch.allclose(Q, before / math.sqrt(6))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"knobs": {"colour": "red"}}, "no step has a knob of that name"),
        ({"implementation": [lambda missing, *, base=2.0: missing * base]}, "which no earlier step computes"),
        ({"returns": ("other",)}, "no step computes it"),
    ],
)
def test_an_author_is_told_what_does_not_fit(parts: dict[str, Any], words: str) -> None:
    """A bank that can't work says so when it is made, and names the place."""

    def answer(x: Tensor, *, base: float = 2.0) -> Tensor:
        return x * base

    idea = Misconception(
        id="a", title="t", explanation="e", hint="h", section="s", knobs=parts.pop("knobs", {"base": 3.0})
    )
    settings = {"arguments": ("x",), "returns": ("answer",), "implementation": [answer], **parts}
    with pytest.raises(AssignmentError, match=words):
        Bank(misconceptions=[idea], **settings)


def test_a_tiny_assignment_needs_one_step_only() -> None:
    """The engine knows nothing about attention: one function with a knob is a bank."""

    @passes("x")
    def given(x: Tensor) -> Tensor:
        return x

    def double(given: Tensor, *, factor: float = 2.0) -> Tensor:
        return given * factor

    idea = Misconception(
        id="tripled", title="the number is tripled", explanation="e", hint="h", section="s", knobs={"factor": 3.0}
    )
    bank = Bank(arguments=("x",), returns=("double",), implementation=[given, double], misconceptions=[idea])
    x = torch.tensor([1.0, 2.0])
    found = one(diagnose([Call((x,), {}, "cpu", output=3 * x, after=(x,))], bank))
    assert found.misconceptions == ["tripled"]
    assert found.title == "The number is tripled"
    assert found.evidence.startswith("matches 1 of 1 calls")


def test_a_step_may_compute_a_tuple() -> None:
    """Values of a step are compared part by part, so that an author's step can return several tensors."""
    pair = (torch.ones(2, 3), torch.zeros(2))
    assert node.same(pair, (torch.ones(2, 3), torch.zeros(2)))
    assert not node.same(pair, (torch.ones(2, 3), torch.ones(2)))
    assert not node.same(pair, (torch.ones(2, 3),))
