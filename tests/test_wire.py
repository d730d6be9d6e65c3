"""The wire carries values exactly, and refuses every frame that lies about its size."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.call import Foreign
from grader.sandbox import values, wire
from grader.sandbox.invoke import laid_out


def there_and_back(value: object) -> object:
    packer = values.ValuePacker()
    message, tensors, _ = wire.parse(bytearray(packer.frame({"value": packer.value(value)})))
    return values.unpacked(message["value"], tensors)


@pytest.mark.parametrize("dtype", list(wire.NAMES), ids=str)
def test_every_dtype_arrives_bit_for_bit(dtype: torch.dtype) -> None:
    """A tensor arrives with its dtype, shape and exact values, also when it is empty or a single number."""
    for shape in [(), (0, 3), (2, 3, 4)]:
        sent = torch.randn(shape).mul(3).to(dtype)
        got = there_and_back(sent)
        assert isinstance(got, Tensor)
        assert got.dtype == dtype
        assert torch.equal(got, sent)


@pytest.mark.parametrize("dtype", list(wire.NAMES), ids=str)
def test_tensors_begin_where_their_numbers_may_stand(dtype: torch.dtype) -> None:
    """Whatever stands before it in a frame, a tensor can be copied: a complex128 elsewhere would end the marker."""
    packer = wire.Packer()
    for before in range(1, 20):
        packer.tensor(torch.zeros(before, dtype=torch.uint8))
        packer.tensor(torch.ones(1, dtype=dtype))
    _, tensors, _ = wire.parse(bytearray(packer.frame({})))
    assert all(tensor.data_ptr() % dtype.itemsize == 0 for tensor in tensors[1::2])


def test_nan_and_infinities_are_values() -> None:
    """NaN and infinities cross like any other number, inside tensors and beside them."""
    got = there_and_back((torch.tensor([math.nan, math.inf, -math.inf]), math.inf, math.nan))
    assert isinstance(got, tuple)
    tensor, infinite, nan = got
    assert tensor.isnan().tolist() == [True, False, False]
    assert infinite == math.inf
    assert math.isnan(nan)


def test_nested_answers_keep_their_form() -> None:
    """Tuples, lists, dicts, None, strings and numbers come back as what they were."""
    value = ({"a": [1, 2.5, None, True]}, ["é \ud800".encode("utf-8", "replace").decode()], ())
    assert there_and_back(value) == value


def test_an_object_of_the_students_arrives_as_its_type_name() -> None:
    """Nothing of an unknown object crosses but the name of its type."""
    assert there_and_back(object()) == Foreign("object")


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda x: x.transpose(0, 2), id="transposed"),
        pytest.param(lambda x: x[:, ::2], id="every second"),
        pytest.param(lambda x: x[:1].expand(5, -1, -1), id="expanded"),
    ],
)
def test_a_view_arrives_laid_out_as_it_was(view: object) -> None:
    """The receiver can rebuild the same strides, so a check can pass a transposed view."""
    sent = view(torch.randn(2, 3, 4))  # type: ignore[operator]
    packer = values.ValuePacker()
    _, tensors, layouts = wire.parse(bytearray(packer.frame({"value": packer.value(sent)})))
    rebuilt = laid_out(tensors[0], layouts[0].strides)
    assert rebuilt.stride() == sent.stride()
    assert torch.equal(rebuilt, sent)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(torch.empty(1).expand(2**40), id="a huge expanded tensor"),
        pytest.param(torch.empty(3, device="meta"), id="a tensor without data"),
        pytest.param([[]] * 10_000, id="too many values"),
    ],
)
def test_what_can_not_be_sent_is_refused_before_memory_is_taken(value: object) -> None:
    """Huge, empty-backed and endless answers are refused instead of being copied."""
    with pytest.raises(wire.Malformed):
        values.ValuePacker().value(value)


def test_endless_nesting_is_refused() -> None:
    """A list that contains itself does not hang or overflow the packer."""
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(wire.Malformed):
        values.ValuePacker().value(endless)


def test_more_nodes_than_are_ever_sent_are_refused() -> None:
    """An answer of many small lists in many small lists takes the marker's memory no more than one long list."""
    with pytest.raises(wire.Malformed):
        values.unpacked([[[]] * 100] * 100, [])
    assert values.unpacked([0] * (values.MAX_NODES - 1), []) == [0] * (values.MAX_NODES - 1)


def test_a_frame_that_announces_too_much_is_refused() -> None:
    """A length beyond the bounds is refused from the first twelve bytes."""
    with pytest.raises(wire.Malformed):
        wire.whole(bytearray(wire.PREFIX.pack(10, 2**60)))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_frame_never_breaks_the_marker(data: st.DataObject) -> None:
    """Whatever bytes a child sends, reading them ends in values or in Malformed."""
    packer = values.ValuePacker()
    frame = bytearray(packer.frame({"value": packer.value((torch.arange(3.0), [1, {"x": "y"}]))}))
    for _ in range(data.draw(st.integers(1, 6))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        if wire.whole(frame):
            message, tensors, _ = wire.parse(frame)
            values.unpacked(message["value"], tensors)
    except (wire.Malformed, KeyError):
        pass
