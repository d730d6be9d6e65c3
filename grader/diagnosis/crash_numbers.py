"""The kinds of crash in which a plain number is wanted, or is not what it should be, most special first."""

from __future__ import annotations

from grader.diagnosis.crash_kind import Kind

NUMBER_KINDS: tuple[Kind, ...] = (
    Kind(
        id="crash_not_called",
        family="not called",
        types=("AttributeError", "RuntimeError", "TypeError"),
        message=r"'(builtin_function_or_method|method|function)'"
        r"|(of|not) (builtin_function_or_method|method|function)\b",
        title="a function is used where its result is wanted",
        explanation="Without round brackets the name stands for the function itself. Q.size is a function and "
        "Q.size(-1) a number, Q.T is a tensor and Q.t a function.",
        hint="Which name on the line needs round brackets behind it?",
    ),
    Kind(
        id="crash_shape_as_number",
        family="shape as number",
        types=("TypeError",),
        message=r"not torch\.Size|and 'torch\.Size'|'torch\.Size' and",
        title="a whole shape is used as if it were one number",
        explanation="Q.shape and Q.size() hold the sizes of all dimensions, like a list.",
        hint="Pick one size out of them, counted from the end: Q.size(-1) or Q.shape[-1].",
    ),
    Kind(
        id="crash_one_number",
        family="one number",
        types=("RuntimeError", "TypeError", "ValueError"),
        message=r"[Oo]nly one element tensors|cannot be converted to Scalar|only (integer tensors|length-1 arrays)|"
        r"only 0-dimensional arrays",
        title="a tensor of many numbers is used as if it were one number",
        explanation="The functions of math, float(), int(), .item(), range() and torch.tensor([...]) need single "
        "numbers. The ones of torch, such as torch.sqrt and torch.exp, work on every number of a tensor.",
        hint="Use the function of the same name in torch. To put tensors together there are torch.stack and torch.cat.",
    ),
    Kind(
        id="crash_math_domain",
        family="math domain",
        types=("ValueError",),
        message=r"math domain error|math range error|expected a (nonnegative|positive) input",
        title="a function of math gets a number for which it has no result",
        explanation="There is no square root of a negative number, and no logarithm of 0.",
        hint="Print the number that goes in. Is it the size of a dimension, and is it counted as you think?",
    ),
    Kind(
        id="crash_zero_division",
        family="zero division",
        types=("ZeroDivisionError",),
        title="a number is divided by 0",
        explanation="A plain number of Python can't be divided by 0. 1 // 2 and int(0.5) are 0 as well.",
        hint="Print the number that you divide by, and follow it back to where it is made.",
    ),
    Kind(
        id="crash_whole_number",
        family="whole number",
        types=("TypeError",),
        message=r"cannot be interpreted as an integer|must be int, not float|"
        r"indices must be integers or slices, not float",
        title="a whole number is wanted and another number is given",
        explanation="Sizes, dimensions, indices and the ends of range() are whole numbers. / always gives a number "
        "with a point, even 6 / 2.",
        hint="Where a size is divided, // gives a whole number.",
    ),
)
