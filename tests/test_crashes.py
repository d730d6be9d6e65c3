"""An exception is explained in authored words, with the student's line and without the exception's own text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from grader.call import Failure
from grader.diagnosis import crashes
from grader.diagnosis.crash_kinds import KINDS
from grader.entry import Entry
from grader.results import Place

ENTRY = Entry(function="f", arguments=["Q", "K", "V", "mask=None"], returns=["output", "weights"])
Q, K = torch.ones(2, 3, 5, 4), torch.ones(2, 3, 7, 4)
SCORES, FLOAT_MASK = torch.ones(2, 3, 5, 7), torch.ones(5, 7)
TRACKED = torch.ones(3, requires_grad=True)


def in_place() -> None:
    leaf = torch.ones(3, requires_grad=True)
    leaf /= 2


def in_place_on_expanded() -> None:
    expanded = torch.ones(1, 4).expand(3, 4)
    expanded /= 2


def own_assert() -> None:
    assert Q.dim() == 3


def takes_two(a: Any, b: Any) -> None: ...


def unpack() -> None:
    _a, _b, _c = Q.shape


REAL: list[tuple[str, Callable[[], Any], str]] = [
    ("crash_all_reversed", lambda: Q @ K.permute(3, 2, 1, 0), "scores = Q @ K.T"),
    ("crash_transpose", lambda: Q @ K.transpose(1, 2), "scores = Q @ K.transpose(1, 2)"),
    ("crash_shapes", lambda: Q @ K, "scores = Q @ K"),
    ("crash_permute", lambda: K.permute(0, 2, 1), "K.permute(0, 2, 1)"),
    ("crash_bmm", lambda: torch.bmm(Q, K), "torch.bmm(Q, K)"),
    ("crash_einsum", lambda: torch.einsum("bqd,bkd->bqk", Q, K), ""),
    ("crash_view", lambda: Q.view(2, -1, 9), ""),
    ("crash_truth_value", lambda: bool(FLOAT_MASK), "if mask:"),
    ("crash_bool_inverted", lambda: ~FLOAT_MASK, "~mask"),
    ("crash_bool_wanted", lambda: SCORES.masked_fill(FLOAT_MASK, 0.0), ""),
    ("crash_bool_condition", lambda: torch.where(FLOAT_MASK, SCORES, SCORES), ""),
    ("crash_bool_subtracted", lambda: 1 - FLOAT_MASK.bool(), ""),
    ("crash_none", lambda: SCORES.masked_fill(None == 0, 0.0), ""),  # type: ignore[call-overload]
    ("crash_none", lambda: SCORES + None, ""),  # type: ignore[operator]
    ("crash_none", lambda: None.shape, ""),  # type: ignore[attr-defined]
    ("crash_number_not_tensor", lambda: torch.sqrt(4), ""),  # type: ignore[arg-type]
    ("crash_half_overflow", lambda: SCORES.half().masked_fill(SCORES > 0, -1e9), ""),
    ("crash_numpy_gradient", lambda: TRACKED.numpy(), ""),
    ("crash_leaf", in_place, "Q /= 2"),
    ("crash_missing_import", lambda: eval("math.sqrt(4)", {}), ""),
    ("crash_name", lambda: eval("scores", {}), ""),
    ("crash_arguments", lambda: takes_two(1), ""),  # type: ignore[call-arg]
    ("crash_dim_missing", lambda: torch.softmax(SCORES), ""),  # type: ignore[call-arg]
    ("crash_dimension", lambda: SCORES.softmax(5), ""),
    ("crash_unpacked_shape", unpack, ""),
    ("crash_index", lambda: Q[9], ""),
    ("crash_array_not_tensor", lambda: torch.matmul(np.ones(3), Q), ""),  # type: ignore[arg-type]
    ("crash_attribute", lambda: Q.foo, ""),  # type: ignore[attr-defined]
    ("crash_dtype", lambda: Q @ K.double().mT, ""),
    ("crash_dtype", lambda: FLOAT_MASK.long().softmax(-1), ""),
    ("crash_overlap", in_place_on_expanded, "Q /= 2"),
    ("crash_fill_value", lambda: SCORES.masked_fill(SCORES > 0, torch.zeros(2)), ""),
    ("crash_mask_shape", lambda: SCORES.masked_fill(torch.ones(5, 5) > 0, 0.0), "s = s.masked_fill(mask == 0, 0.0)"),
    ("crash_mask_shape", lambda: SCORES[0].masked_fill_(SCORES > 0, 0.0), "s.masked_fill_(mask == 0, 0.0)"),
    ("crash_mask_index", lambda: SCORES[FLOAT_MASK == 0], "scores[mask == 0] = 0.0"),
    ("crash_bool_subtracted", lambda: -FLOAT_MASK.bool(), ""),
    ("crash_bool_wanted", lambda: SCORES[FLOAT_MASK], ""),
    ("crash_not_called", lambda: Q.size**0.5, ""),  # type: ignore[operator]
    ("crash_not_called", lambda: SCORES / Q.size, ""),  # type: ignore[operator]
    ("crash_not_called", lambda: math.sqrt(Q.size), ""),  # type: ignore[arg-type]
    ("crash_not_called", lambda: Q.size[-1], ""),  # type: ignore[index]
    ("crash_shape_as_number", lambda: SCORES / Q.shape, ""),  # type: ignore[operator]
    ("crash_shape_as_number", lambda: math.sqrt(Q.size()), ""),  # type: ignore[arg-type]
    ("crash_one_number", lambda: math.sqrt(Q), ""),
    ("crash_one_number", lambda: Q.item(), ""),
    ("crash_math_domain", lambda: math.sqrt(-1), ""),
    ("crash_zero_division", lambda: 1 / math.sqrt(0), ""),
    ("crash_whole_number", lambda: range(7 / 2), ""),  # type: ignore[call-overload]
    ("crash_operands", lambda: [1, 2] / 2, ""),  # type: ignore[operator]
    ("crash_matrix", lambda: torch.mm(Q, K), ""),
    ("crash_einsum_letter", lambda: torch.einsum("bhqd,bhkd->bhqx", Q, K), ""),
    ("crash_shapes", lambda: torch.einsum("bhqd,bhqd->bhq", Q, K), ""),
    ("crash_shapes", lambda: torch.stack([Q, K]), ""),
    ("crash_view", lambda: K.transpose(1, 2).view(2, -1), ""),
    ("crash_view", lambda: K.view(-1, -1), ""),
    ("crash_assert", own_assert, ""),
    ("crash_none", lambda: torch.where(None, SCORES, SCORES), ""),  # type: ignore[call-overload]
]


def failure_of(action: Callable[[], Any], line: str = "") -> Failure:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any exception will do
        action()
    place = Place(file="attention.py", line=4, text=line)
    return Failure("exception", type(caught.value).__name__, str(caught.value), place)


@pytest.mark.parametrize(("id", "action", "line"), REAL)
def test_what_really_happens_is_recognised(id: str, action: Callable[[], Any], line: str) -> None:
    """Exceptions as this torch raises them are explained by their kind, and point at the line."""
    explained = crashes.explain(failure_of(action, line), ENTRY)
    assert explained is not None
    assert explained.misconceptions == [id]
    assert explained.place is not None


@pytest.mark.parametrize(
    ("message", "id"),
    [
        ("Torch not compiled with CUDA enabled", "crash_hard_coded_device"),
        (
            "Expected all tensors to be on the same device, but found at least two devices, gpu:0 and cpu!",
            "crash_device",
        ),
        ("can't convert gpu:0 device type tensor to numpy. Use Tensor.cpu() first.", "crash_numpy_device"),
    ],
)
def test_accelerators_are_covered(message: str, id: str) -> None:
    """What only a machine with an accelerator raises is known as well."""
    kinds = ("AssertionError", "RuntimeError", "TypeError")
    found = [crashes.explain(Failure("exception", kind, message)) for kind in kinds]
    assert id in [one.misconceptions[0] for one in found if one is not None]


def test_the_students_text_is_never_repeated() -> None:
    """A message may hold hidden numbers or insults: only authored words reach the page."""
    failure = Failure("exception", "ValueError", "too many values to unpack (expected 3) SECRET 0.1234", None)
    explained = crashes.explain(failure, ENTRY)
    assert explained is not None
    assert "SECRET" not in explained.title + explained.explanation + explained.hint
    assert "SECRET" in explained.evidence


def test_the_missing_import_is_spelled_out() -> None:
    """The line to add is given."""
    explained = crashes.explain(Failure("exception", "NameError", "name 'math' is not defined"))
    assert explained is not None
    assert "import math" in explained.hint


@pytest.mark.parametrize("kind", ["timeout", "memory", "crash"])
def test_other_endings_are_not_explained_here(kind: Any) -> None:
    """A time-out is no exception; nothing is guessed about it."""
    assert crashes.explain(Failure(kind, "", "")) is None


def test_an_exception_of_the_students_own_is_not_explained() -> None:
    """Nothing is said about what is not known."""
    assert crashes.explain(Failure("exception", "Boredom", "enough")) is None


def test_every_kind_has_words() -> None:
    """Title, explanation and hint, none of them code only."""
    for kind in KINDS:
        assert not kind.title.endswith(".")
        assert kind.explanation.endswith(".")
        assert kind.hint.endswith((".", "?"))


def test_a_crash_may_follow_from_another_way_of_calling_but_not_when_it_is_about_the_device_or_a_name() -> None:
    """What the wrong arguments never bring about stays a matter of its own, and so do an assignment's ideas."""
    assert crashes.follows(["crash_gradient_shape"])
    assert crashes.follows(["crash_bool_inverted"])
    assert not crashes.follows(["crash_device"])
    assert not crashes.follows(["crash_name"])
    assert not crashes.follows(["not_scaled"])
