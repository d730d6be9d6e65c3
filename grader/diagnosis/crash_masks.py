"""The kinds of crash around masks and what is filled in, most special first."""

from __future__ import annotations

from grader.diagnosis.crash_kind import Kind

MASK_KINDS: tuple[Kind, ...] = (
    Kind(
        id="crash_fill_value",
        family="fill value",
        types=("RuntimeError",),
        message=r"only supports a 0-dimensional value",
        title="masked_fill gets a tensor of several numbers to fill in",
        explanation="masked_fill writes one and the same number wherever the mask is true.",
        hint='Fill in a plain number such as float("-inf"). To choose between two tensors place by place there is '
        "torch.where.",
    ),
    Kind(
        id="crash_infinite_integer",
        family="whole numbers",
        types=("OverflowError", "RuntimeError"),
        message=r"cannot convert float infinity",
        title="infinity is put into a tensor of whole numbers",
        explanation="Only floating point tensors can hold infinity.",
        hint="Fill the tensor of floating point numbers, not the one that holds whole numbers.",
    ),
    Kind(
        id="crash_half_overflow",
        family="overflow",
        types=("RuntimeError",),
        message=r"without overflow",
        title="a number is too large for the dtype of the tensor",
        explanation="float16 holds numbers up to 65504 only, so that -1e9 does not fit.",
        hint='-infinity exists in every dtype: float("-inf"). torch.finfo(dtype).min is the lowest finite number.',
    ),
    Kind(
        id="crash_bool_inverted",
        family="bool inverted",
        types=("TypeError",),
        message=r"operator\.invert|bad operand type for unary ~|~ \(operator",
        title="~ is used on a tensor that is not bool",
        explanation='~ means "not" for bool tensors. It is not defined for floating point numbers.',
        hint="Make a bool tensor first, by comparing: `tensor == 0` is true where the tensor is 0.",
    ),
    Kind(
        id="crash_bool_subtracted",
        family="bool subtracted",
        types=("RuntimeError", "TypeError"),
        message=r"(with|on) a bool tensor is not supported|boolean (subtract|negative)|numpy boolean",
        title="a bool tensor is subtracted, or has a minus sign before it",
        explanation="True and False can't be subtracted from each other or from a number, and have no sign.",
        hint="Turn it round by comparing: `tensor == 0` is true where the tensor is False.",
    ),
    Kind(
        id="crash_bool_condition",
        family="bool condition",
        types=("RuntimeError",),
        message=r"to be a boolean tensor|condition to be",
        title="a mask of numbers is used where a bool mask is needed",
        explanation="masked_fill and where take bool tensors only: true or false for each place. The mask may hold "
        "whole or floating point numbers.",
        hint="Make a bool tensor first, by comparing: `mask == 0` is true where the mask is 0.",
    ),
    Kind(
        id="crash_bool_wanted",
        family="bool wanted",
        types=("IndexError", "RuntimeError", "TypeError"),
        message=(
            r"only supports boolean masks|to be a boolean tensor|[Ee]xpected .*\bbool|must be .*[Bb]ool|"
            r"masked_select"
        ),
        title="a mask of numbers is used where a bool mask is needed",
        explanation="masked_fill and where take bool tensors only: true or false for each place. The mask may hold "
        "whole or floating point numbers.",
        hint="Make a bool tensor first, by comparing: `mask == 0` is true where the mask is 0.",
    ),
)
