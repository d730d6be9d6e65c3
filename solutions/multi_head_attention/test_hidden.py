"""The hidden checks of "Multi-head attention": 100 points, 12 of them on the accelerator.

Expected numbers are the float64 reference's; the library's own module is asked beside it, and a disagreement
between the two is our fault and nobody's zero.
"""

from __future__ import annotations

import torch
from bounds import bounds
from inputs import Sizes, library_of, masks, matrices, matrices_of, padding, scattered, sequences, square
from torch import Tensor, nn

from grader.checks import CheckFailure, expect, points, vjp
from grader.errors import GraderFault

SIZES = Sizes()
BY_KEY, BY_FEATURE = ("query", "key"), ("query", "feature")
EXTRA_OPS = 2
"""How many operations more a larger input may need: a library may take another route for it."""

SPLIT_HINT = (
    "A head gets its own block of columns at every position. First split the last dimension in two, then swap; and the "
    "other way round when you merge."
)
MASK_HINT = "Where the mask is 0, the score must become minus infinity before the softmax, in every head."


def same_output(answer, wanted, limits) -> None:
    """The output has the right shape and the right numbers."""
    expect.shape(answer[0], wanted[0].shape, name="The output")
    expect.close(answer[0], wanted[0], bound=limits[0], name="The output", axes=BY_FEATURE)


def same_weights(answer, wanted, limits, mask: Tensor | None = None) -> None:
    """The weights of every head have the right shape and the right numbers."""
    hidden = None if mask is None else (mask == 0).expand(wanted[1].shape)
    name = "The weights tensor"
    expect.shape(answer[1], wanted[1].shape, name=name)
    expect.close(answer[1], wanted[1], bound=limits[1], name=name, axes=BY_KEY, masked=hidden)


def ask_library(module: nn.MultiheadAttention, x: Tensor, context: Tensor, wanted, limits) -> None:
    """The reference's numbers are the library's, or no mark can be trusted."""
    with torch.no_grad():
        output, weights = module(x.double(), context.double(), context.double(), average_attn_weights=False)
    for ours, theirs, limit in ((wanted[0], output, limits[0]), (wanted[1], weights, limits[1])):
        if not bool(((ours - theirs).abs() <= limit).all()):
            raise GraderFault("The reference and nn.MultiheadAttention disagree: no mark can be trusted.")


@points(8, gpu=2, hint="Take every size from the tensors; no two of them need be equal.")
def test_shape(student, device):
    """The output has shape (B, Tq, E) and the weights have shape (B, H, Tq, Tk)."""
    output, weights = student(*sequences(SIZES), *matrices(SIZES), SIZES.H)
    expect.shape(output, SIZES.output, name="The output")
    expect.shape(weights, SIZES.weights, name="The weights tensor")
    expect.stays_on_device(student.last, hint="Make new tensors on the device of the inputs.")


@points(8, hint="The softmax runs over the keys, the last dimension, within each head.")
def test_row_sum(student):
    """The weights of each query sum to 1 in every head."""
    _, weights = student(*sequences(SIZES), *matrices(SIZES), SIZES.H)
    expect.shape(weights, SIZES.weights, name="The weights tensor")
    expect.real(weights, name="The weights tensor")
    bound = 4 * SIZES.Tk * torch.finfo(weights.dtype).eps
    expect.close(
        weights.double().sum(-1), 1.0, bound=bound, name="The sum of a query's weights", axes=("head", "query")
    )


@points(14, gpu=3, hint=SPLIT_HINT)
def test_self_attention(student, reference, device):
    """Self-attention gives the numbers of nn.MultiheadAttention, with your weights copied into it."""
    cases = {}
    for heads, width in ((2, 3), (3, 2)):
        sizes = square(heads, width)
        x = sequences(sizes)[0]
        cases[f"{heads} heads of width {width}"] = (x, x, *matrices(sizes), heads)
    for words, inputs, answer in student.each(cases):
        with expect.case(words):
            got = answer()
            wanted, limits = reference(*inputs), bounds(*inputs)
            x, _, *given, heads = inputs
            ask_library(library_of(given, heads), x, x, wanted, limits)
            same_weights(got, wanted, limits)
            same_output(got, wanted, limits)


@points(8, hint="The matrices are stored as nn.Linear stores its weight: one row for each output.")
def test_weights_of_the_library(student, reference):
    """The matrices of an nn.MultiheadAttention, copied into your function, give its numbers."""
    sizes = square(2, 4)
    module = nn.MultiheadAttention(sizes.D, sizes.H, bias=False, batch_first=True, dtype=torch.float64)
    x, given = sequences(sizes)[0], matrices_of(module)
    answer = student(x, x, *given, sizes.H)
    wanted, limits = reference(x, x, *given, sizes.H), bounds(x, x, *given, sizes.H)
    ask_library(library_of(given, sizes.H), x, x, wanted, limits)
    same_output(answer, wanted, limits)


@points(12, gpu=3, hint="x asks and the context answers: keys and values are made from the context.")
def test_cross_attention(student, reference, device):
    """A context of another length and another width works."""
    several = {"all widths differ": SIZES, "x and context have the same width": square(2, 3, Tq=4, Tk=6)}
    cases = {words: (*sequences(sizes), *matrices(sizes), sizes.H) for words, sizes in several.items()}
    for words, inputs, answer in student.each(cases):
        with expect.case(words):
            got = answer()
            wanted, limits = reference(*inputs), bounds(*inputs)
            x, context, *given, heads = inputs
            if x.size(-1) == context.size(-1):  # else the library's module can't be given these matrices
                ask_library(library_of(given, heads), x, context, wanted, limits)
            same_output(got, wanted, limits)


@points(8, gpu=2, hint=MASK_HINT)
def test_masked_zero(student, device):
    """A key that the mask hides has a weight of exactly 0 in every head, and no other key has."""
    given = (*sequences(SIZES), *matrices(SIZES), SIZES.H)
    cases = {words: (*given, mask) for words, mask in masks(SIZES)[1:]}
    for words, (*_, mask), answer in student.each(cases):
        with expect.case(words):
            _, weights = answer()
            expect.shape(weights, SIZES.weights, name="The weights tensor")
            hidden = (mask == 0).expand(weights.shape)
            expect.zero(weights, hidden, name="The weight of a hidden key", axes=BY_KEY)
            expect.true(bool((weights[~hidden] > 0).all()), "A key that the query may look at has no weight above 0.")


@points(8, gpu=2, hint=MASK_HINT)
def test_masked_numbers(student, reference, device):
    """With masks of every shape that broadcasts, the output is right."""
    given = (*sequences(SIZES), *matrices(SIZES), SIZES.H)
    for words, inputs, answer in student.each({words: (*given, mask) for words, mask in masks(SIZES)}):
        with expect.case(words):
            same_output(answer(), reference(*inputs), bounds(*inputs))


@points(4, hint="With one head there is nothing to split: the function must not need more than one.")
def test_one_head(student, reference):
    """One head is plain attention."""
    sizes = SIZES._replace(H=1, d_k=4, d_v=6)
    x, context = sequences(sizes)
    given = matrices(sizes)
    answer = student(x, context, *given, 1)
    same_output(answer, reference(x, context, *given, 1), bounds(x, context, *given, 1))


@points(6, hint=SPLIT_HINT)
def test_heads_are_separate(student):
    """Changing the queries' matrix of one head changes the weights of that head alone."""
    x, context = sequences(SIZES)
    W_q, *others = matrices(SIZES)
    changed = W_q.clone()
    changed[SIZES.d_k : 2 * SIZES.d_k] *= -1.0
    asked = [student.later(x, context, matrix, *others, SIZES.H) for matrix in (W_q, changed)]
    (_, before), (_, after) = [answer() for answer in asked]
    expect.shape(before, SIZES.weights, name="The weights tensor")
    expect.shape(after, SIZES.weights, name="The weights tensor")
    # a matrix product may round one head in another way when its neighbour changes, but no more than that
    limits = bounds(x, context, W_q, *others, SIZES.H)[1]
    wanted = before.double().clone()
    wanted[:, 1] = after[:, 1]  # the changed head may be anything here; the others keep their numbers
    expect.close(after, wanted, bound=2 * limits, name="The weights of an unchanged head", axes=BY_KEY)
    moved = (after[:, 1] - before[:, 1]).abs() > 2 * limits[:, 1]
    expect.true(bool(moved.any()), "The weights of the changed head stayed as they were.")


@points(5, hint="Tensor operations carry gradients. detach(), .data, item(), NumPy and torch.tensor(...) do not.")
def test_gradients(student, reference):
    """Gradients flow back to x, the context and all four matrices, and they are right."""
    sizes = square(2, 3, Tq=4, Tk=5)
    given = [tensor.double() for tensor in (*sequences(sizes), *matrices(sizes))]
    mask = scattered(sizes, 1)
    directions = (
        torch.randn(sizes.output, dtype=torch.float64),
        torch.randn(sizes.weights, dtype=torch.float64),
    )
    _, gradients = student.vjp(*given, sizes.H, mask, cotangents=directions)
    sources = [tensor.clone().requires_grad_() for tensor in given]
    wanted = vjp(reference(*sources, sizes.H, mask), sources, directions)
    expect.true(len(gradients) == len(wanted), "There is not one gradient for each of the six tensors.")
    for name, got, want in zip(("x", "context", "W_q", "W_k", "W_v", "W_o"), gradients, wanted, strict=True):
        if got is None:
            raise CheckFailure(f"No gradient reaches {name}.")
        # float64 leaves about nine digits more than the two that tell a right gradient from a wrong one
        expect.close(got, want, bound=1e-9 * float(want.abs().max()), name=f"The gradient of {name}")


@points(2, hint="Operators such as /= and functions whose names end in _ write into a tensor of the caller's.")
def test_inputs_unchanged(student):
    """All arguments are left as they were."""
    student(*sequences(SIZES), *matrices(SIZES), SIZES.H, padding(SIZES).float())
    expect.unchanged(student.last)


@points(2, hint="Give the mask the default None, and apply it only if it is not None.")
def test_mask_is_optional(student, reference):
    """The mask may be left out, be None, or be passed by its name."""
    given = (*sequences(SIZES), *matrices(SIZES), SIZES.H)
    mask = scattered(SIZES, 1)
    cases = (
        ("no mask given", student.later(*given), None),
        ("mask=None", student.later(*given, mask=None), None),
        ("mask=...", student.later(*given, mask=mask), mask),
    )
    for words, answer, known in cases:
        with expect.case(words):
            same_output(answer(), reference(*given, known), bounds(*given, known))


@points(
    2,
    watched=True,
    hint="All heads go through the same matrix product: after the split they are one more leading dimension.",
)
def test_no_loops(student):
    """The number of tensor operations does not grow with the number of heads or sequences."""
    cases = {sizes: (*sequences(sizes), *matrices(sizes), sizes.H) for sizes in (SIZES, SIZES._replace(B=6, H=8))}
    few, many = [operations(student, answer) for _, _, answer in student.each(cases)]
    expect.true(
        few > 0,
        "No tensor operation of PyTorch was seen in your function. What runs in a thread of its own is not seen.",
    )
    message = f"2 sequences and 3 heads take {few} tensor operations, 6 sequences and 8 heads {many}."
    expect.true(many <= few + EXTRA_OPS, message)


def operations(student, answer) -> int:
    """How many operators the student's function ran for this answer."""
    answer()
    return sum(student.last.ops.values())


@points(1, watched=True, hint="Write the steps yourself: matrix products, a scale, the mask and a softmax.")
def test_from_scratch(student):
    """The library's ready-made attention is not used."""
    student(*sequences(SIZES), *matrices(SIZES), SIZES.H)
    used = sorted(name for name in student.last.ops if "attention" in name)
    expect.true(not used, f"Your function uses the library's own attention ({', '.join(used)}).")
