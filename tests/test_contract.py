"""What does not fit between a function and the checks' calls is said precisely, and nothing false about what fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from grader import assignment, staff
from grader.assignment import Convention as Setting
from grader.call import Call, Failure, Foreign, Invocation
from grader.diagnosis import contract
from grader.diagnosis.contract import Verdict
from grader.diagnosis.examples import Examples
from grader.entry import Found, Loaded, Problem
from grader.misconception import fresh
from grader.results import Place

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment.load("attention", ROOT)
STAFF = staff.load(ASSIGNMENT)
ENTRY = ASSIGNMENT.settings.entry
RIGHT = STAFF.reference
EXAMPLES = Examples(STAFF.conventions, RIGHT)
PLACE = Place(file="attention.py", line=3)
PARAMETERS = ["Q", "K", "V", "mask=None"]


def loaded(parameters: list[str] = PARAMETERS, *, kind: Any = "function", stub: bool = False) -> Loaded:
    return Loaded(entry=Found(name=ENTRY.function, kind=kind, parameters=parameters, stub=stub, place=PLACE))


def calling(function: Callable[..., Any], count: list[int] | None = None) -> contract.Calling:
    def call(asked: Invocation) -> Call:
        if count is not None:
            count.append(1)
        args, kwargs = fresh((asked.args, asked.kwargs))
        try:
            return Call.of(asked, output=function(*args, **kwargs))
        except Exception as error:
            return Call.of(asked, failure=Failure("exception", type(error).__name__, str(error), PLACE))

    return lambda asked: list(map(call, asked))


def probe(
    function: Callable[..., Any], parameters: list[str] = PARAMETERS, settings: Mapping[str, Setting] | None = None
) -> Verdict:
    return contract.probe(loaded(parameters), calling(function), ENTRY, EXAMPLES, settings)


def mask_turned(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
    return RIGHT(Q, K, V, None if mask is None else mask == 0)


def additive(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
    scores = Q @ K.mT / Q.size(-1) ** 0.5
    weights = (scores if mask is None else scores + mask).softmax(-1)
    return weights @ V, weights


def three_dimensions(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
    torch.bmm(Q, K.transpose(1, 2))
    return RIGHT(Q, K, V, mask)


def two_dimensions(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
    torch.mm(Q, K.t())
    return RIGHT(Q, K, V, mask)


def bool_only(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
    return RIGHT(Q, K, V, mask if mask is None else ~(~mask))


def bool_turned(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
    return RIGHT(Q, K, V, mask if mask is None else ~mask)


def mask_needed(Q: Tensor, K: Tensor, V: Tensor, mask: Any = None) -> Any:
    return RIGHT(Q, K, V, mask.clone())


def size_fourth(Q: Tensor, K: Tensor, V: Tensor, d_k: Any) -> Any:
    weights = (Q @ K.mT / d_k**0.5).softmax(-1)
    return weights @ V, weights


class Pair(NamedTuple):
    output: Tensor
    weights: Tensor


# --- functions that fit ---


@pytest.mark.parametrize(
    "function",
    [
        RIGHT,
        lambda *args, **kwargs: Pair(*RIGHT(*args, **kwargs)),
        lambda *args, **kwargs: list(RIGHT(*args, **kwargs)),
    ],
    ids=["plain", "named tuple", "list"],
)
@pytest.mark.parametrize("parameters", [PARAMETERS, ["?"], ["*args", "**options"], ["q", "k", "v", "mask=None", "p=0"]])
def test_nothing_is_said_about_a_function_that_fits(function: Callable[..., Any], parameters: list[str]) -> None:
    """Whatever its parameters are called, a right function hears nothing."""
    assert probe(function, parameters) == Verdict()


def test_a_function_that_fits_costs_three_calls() -> None:
    """One for each example, no more."""
    count: list[int] = []
    contract.probe(loaded(), calling(RIGHT, count), ENTRY, EXAMPLES)
    assert len(count) == 3


def test_wrong_numbers_are_not_taken_for_a_convention() -> None:
    """A wrong idea is the diagnosis's business."""

    def unscaled(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
        return RIGHT(Q * Q.size(-1) ** 0.5, K, V, mask)

    def late(Q: Tensor, K: Tensor, V: Tensor, mask: Any = None) -> Any:
        _, weights = RIGHT(Q, K, V)
        weights = weights if mask is None else weights * (mask != 0)
        return weights @ V, weights

    assert probe(unscaled) == Verdict()
    assert probe(late) == Verdict()


# --- what the loader found ---


def test_another_name_is_named_with_the_mend() -> None:
    """The student reads which function was found and what it must be called."""
    other = Found(name="attention", kind="function", parameters=["q", "k", "v"], stub=False, place=PLACE)
    verdict = contract.probe(Loaded(entry=None, others=[other]), calling(RIGHT), ENTRY, EXAMPLES)
    assert verdict.fatal
    assert "one called attention at line 3" in verdict.words
    assert "scaled_dot_product_attention(Q, K, V, mask=None)" in verdict.words
    assert verdict.place == PLACE


@pytest.mark.parametrize("found", [[], ["class"]])
def test_a_class_or_nothing_at_all_says_what_to_write(found: list[Any]) -> None:
    """A Module is explained; so is work without any function."""
    others = [Found(name="Attention", kind=kind, parameters=[], stub=False, place=PLACE) for kind in found]
    verdict = contract.probe(Loaded(entry=None, others=others), calling(RIGHT), ENTRY, EXAMPLES)
    assert verdict.fatal
    assert "def scaled_dot_product_attention(Q, K, V, mask=None)" in verdict.words
    assert ("class" in verdict.words) == bool(found)


def test_what_kept_the_work_from_loading_comes_first() -> None:
    """A syntax error explains why there is no function."""
    problem = Problem(kind="syntax", message="Line 2 has a bracket that is never closed.", place=PLACE)
    verdict = contract.probe(Loaded(entry=None, problems=[problem]), calling(RIGHT), ENTRY)
    assert verdict.words.startswith("Line 2 has a bracket")
    assert verdict.place == PLACE


def test_a_stub_and_a_class_are_not_called() -> None:
    """Nothing to try: the words say what to do."""
    for found, words in ((loaded(stub=True), "not written yet"), (loaded(kind="class"), "is a class")):
        verdict = contract.probe(found, calling(RIGHT), ENTRY, EXAMPLES)
        assert verdict.fatal
        assert words in verdict.words


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (["Q", "K", "V"], "mask=None is missing"),
        (["Q", "K", "V", "mask=None", "d_k"], "also needs d_k"),
        (["Q", "K", "V", "mask"], "can't be left out"),
        (["Q", "K", "V", "attn_mask=None"], "calls it attn_mask"),
    ],
)
def test_parameters_that_do_not_fit_are_named(parameters: list[str], words: str) -> None:
    """Missing, extra, required and renamed parameters each have their sentence, with and without staff files."""
    assert words in probe(RIGHT, parameters).words
    assert words in contract.probe(loaded(parameters), calling(RIGHT), ENTRY).words


# --- the form of the answer ---


@pytest.mark.parametrize(
    ("form", "id", "words"),
    [
        (lambda o, w: o, "lone_value", "only the output"),
        (lambda o, w: w, "lone_value", "only the weights"),
        (lambda o, w: (w, o), "swapped", "in another order"),
        (lambda o, w: (o, w, w.sum()), "more_values", "3 values where 2"),
        (lambda o, w: {"weights": w, "output": o}, "dict", "a dict"),
        (lambda o, w: None, "none", "nothing (None)"),
        (lambda o, w: (o, None), "other_form", "should return"),
        (lambda o, w: (Foreign("numpy.ndarray", o), Foreign("numpy.ndarray", w)), "ndarray", "NumPy arrays"),
        (lambda o, w: 3.0, "other_form", "float"),
    ],
)
def test_each_other_form_of_answer_is_explained(form: Callable[..., Any], id: str, words: str) -> None:
    """A lone tensor never unpacks into batch items, and every other form says how to end the function."""
    verdict = probe(lambda *args, **kwargs: form(*RIGHT(*args, **kwargs)))
    assert verdict.recognised == (id,)
    assert words in verdict.words
    assert verdict.adapter is None
    assert not verdict.fatal


# --- conventions of the arguments ---


@pytest.mark.parametrize(
    ("function", "id"),
    [
        (lambda K, Q, V, mask=None: RIGHT(Q, K, V, mask), "key_first"),
        (mask_turned, "true_is_masked"),
        (bool_turned, "true_is_masked_bool"),
        (additive, "additive_mask"),
        (bool_only, "bool_mask_only"),
        (mask_needed, "mask_required"),
        (size_fourth, "size_fourth"),
        (three_dimensions, "three_dimensions_only"),
        (two_dimensions, "two_dimensions_only"),
    ],
)
def test_each_convention_is_recognised(function: Callable[..., Any], id: str) -> None:
    """A convention is explained as one, and not graded through unless the assignment says so."""
    verdict = probe(function)
    assert verdict.recognised == (id,)
    assert verdict.words
    assert verdict.adapter is None
    assert verdict.deduction == 0.0


def test_a_crash_in_the_cell_is_told_at_once() -> None:
    """A missing import or a hard-coded device stops every call: the line and the mend are given."""

    def unimported(*_: Any) -> Any:
        raise NameError("name 'math' is not defined")

    def hard_coded(*_: Any) -> Any:
        raise AssertionError("Torch not compiled with CUDA enabled")

    assert "import math" in probe(unimported).words
    assert "device=Q.device" in probe(hard_coded).words


@pytest.mark.parametrize("hanging", [1, 2], ids=["always", "with a mask"])
def test_a_time_out_is_met_only_once(hanging: int) -> None:
    """The probe does not wait again and again for a function that hangs: what it waits for the checks would miss."""
    count: list[int] = []

    def hangs(asked: Sequence[Invocation]) -> list[Call]:
        count.extend(1 for _ in asked)
        if len(count) < hanging:
            return calling(RIGHT)(asked)
        return [Call.of(one, failure=Failure("timeout", "", "")) for one in asked]

    assert contract.probe(loaded(), hangs, ENTRY, EXAMPLES) == Verdict()
    assert len(count) == hanging


@pytest.mark.parametrize("second", ["right", "with other parameters", "wrong"])
def test_what_was_found_of_the_same_replies_is_found_again(second: str) -> None:
    """Examples answered like somebody else's need no second look; a parameter list does, and so do other replies."""
    examples = Examples(STAFF.conventions, RIGHT)

    def answering(function: Callable[..., Any], digest: bytes) -> contract.Calling:
        made = calling(function)
        return lambda asked: [replace(call, digest=digest) for call in made(asked)]

    assert contract.probe(loaded(), answering(RIGHT, b"1"), ENTRY, examples) == Verdict()
    parameters = ["K", "Q", "V"] if second == "with other parameters" else PARAMETERS
    function, digest = (mask_turned, b"2") if second == "wrong" else (RIGHT, b"1")
    verdict = contract.probe(loaded(parameters), answering(function, digest), ENTRY, examples)
    assert bool(verdict.words) == (second != "right")
    assert verdict.right == (1 if second == "wrong" else len(examples.inputs))


# --- what the settings decide ---


def swapped_and_turned(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Any:
    output, weights = mask_turned(Q, K, V, mask)
    return weights, output


def test_an_adapter_translates_both_ways_at_its_price() -> None:
    """Graded through: the arguments and the answer are translated, and the words tell the price."""
    settings = {"swapped": Setting("adapt", 0.1), "true_is_masked": Setting("accept")}
    verdict = probe(swapped_and_turned, settings=settings)
    assert verdict.adapter is not None
    assert verdict.deduction == pytest.approx(0.1)
    assert "10%" in verdict.words
    Q, K, V = torch.randn(2, 3, 4, 6), torch.randn(2, 3, 5, 6), torch.randn(2, 3, 5, 7)
    mask = torch.tensor([True, False, True, True, False])
    for kwargs in ({}, {"mask": mask}):
        args, sent = verdict.adapter.arguments((Q, K, V), kwargs)
        answer = verdict.adapter.result(swapped_and_turned(*args, **sent))
        for mine, right in zip(answer, RIGHT(Q, K, V, **kwargs), strict=True):
            assert torch.allclose(mine, right)


def test_what_the_settings_do_not_name_is_explained_only() -> None:
    """An adapter for one of two conventions leaves the other as it is."""
    verdict = probe(swapped_and_turned, settings={"swapped": Setting("accept")})
    assert verdict.recognised == ("swapped", "true_is_masked")
    assert verdict.adapter is not None
    args, _ = verdict.adapter.arguments((1, 2, 3, torch.ones(1)), {})
    assert torch.equal(args[3], torch.ones(1))


def test_a_convention_stands_in_for_the_misconceptions_that_say_the_same() -> None:
    """True = masked is told as a convention when everything else is right, not twice."""
    assert "mask_inverted" in probe(mask_turned).explains
    bank = STAFF.bank
    assert bank is not None
    known = {idea.id for idea in bank.misconceptions}
    assert all(set(convention.misconceptions) <= known for convention in STAFF.conventions)
