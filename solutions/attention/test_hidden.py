"""The hidden checks of "Self-attention from scratch": 100 points, 14 of them on the accelerator.

Every expected number is the float64 reference's, every tolerance is derived in bounds.py. A check that compares
numbers looks at the shape first, so that an answer of another shape is the student's failure and not our error.
"""

from __future__ import annotations

import torch
from bounds import bounds, gradient_bounds, row_sum_bound
from inputs import MASKED, Sizes, causal, large, mask_of, padding, qkv, scattered
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from grader.checks import CheckFailure, expect, points, vjp
from grader.errors import GraderFault
from grader.kept import kept

library_attention = kept(scaled_dot_product_attention)
SIZES = Sizes()
BY_KEY, BY_FEATURE = ("query", "key"), ("query", "feature")
NOTICEABLE, MOST = 0.02, 0.75
"""Which keys should surely have a weight, and how many of them must. A mask too many hides more than a quarter;
scores gone wild make a few weights vanish, and that is for other checks to say."""
EXTRA_OPS = 2
"""How many operations more a larger input may need: a library may take another route for it."""

SHAPE_HINT = (
    "The scores need one row for each query and one column for each key: only the last two dimensions of K change "
    "places. The dimensions before them stay as they are."
)
ROWS_HINT = (
    "The weights of one query are shares of 1, one for each key. Over which dimension must the softmax run? And "
    "does anything change the weights after the softmax?"
)
MASK_HINT = (
    "Where the mask is 0, the score must become so small that its exponential is 0. This has to happen before the "
    "softmax, to the scores that the softmax then gets. Without a mask nothing is hidden."
)
NUMBERS_HINT = (
    "Compare your steps with the handout: scores, division by the square root of d_k, mask, softmax over the keys, "
    "and the mixture of the values."
)


def shaped(output: Tensor, weights: Tensor, Q: Tensor, K: Tensor, V: Tensor, hint: str = SHAPE_HINT) -> None:
    """Both results have the shapes that the handout promises, and real numbers."""
    expect.shape(output, (*Q.shape[:-1], V.size(-1)), name="The output", hint=hint)
    expect.shape(weights, (*Q.shape[:-1], K.size(-2)), name="The weights tensor", hint=hint)
    expect.real(output, name="The output")
    expect.real(weights, name="The weights tensor")


def tried(output: Tensor, weights: Tensor, Q: Tensor, K: Tensor, V: Tensor) -> None:
    """The answer has its shapes and is not a constant: for checks of behaviour, which any constant would pass."""
    shaped(output, weights, Q, K, V)
    expect.true(not bool(weights.isnan().all()), "All weights are NaN.")
    by_query = not torch.equal(weights[..., 1:, :], weights[..., :-1, :])
    by_key = not torch.equal(weights[..., 1:], weights[..., :-1])
    expect.true(by_query and by_key, "The weights are the same for every query or for every key.")
    mixed = not torch.equal(output[..., 1:, :], output[..., :-1, :])
    expect.true(mixed, "The output is the same for every query.")


def agree(
    answer: tuple[Tensor, Tensor],
    wanted: tuple[Tensor, Tensor],
    limits: tuple[Tensor, Tensor],
    mask: Tensor | None = None,
    hint: str = "",
) -> None:
    """Output and weights equal what is wanted within the limits. The weights come first: the output follows them."""
    hidden = None if mask is None else mask == 0
    expect.close(
        answer[1], wanted[1], bound=limits[1], hint=hint, name="The weights tensor", axes=BY_KEY, masked=hidden
    )
    expect.close(answer[0], wanted[0], bound=limits[0], hint=hint, name="The output", axes=BY_FEATURE)


# --- the classic four: 70 points ---


def masked(device: str, *forms: str) -> dict[str, tuple[Tensor | None, ...]]:
    """Q, K, V and the mask of each form; of every other form on the accelerator, where a call is dear."""
    Q, K, V = qkv(SIZES)
    return {form: (Q, K, V, mask_of(form, SIZES)) for form in (forms if device == "cpu" else forms[::2])}


def judge(student, reference, cases: dict[str, tuple[Tensor | None, ...]]) -> None:
    """In each case the answer is the reference's, within the bounds."""
    for words, inputs, answer in student.each(cases):
        with expect.case(words):
            got = answer()
            shaped(*got, *inputs[:3])
            agree(got, reference(*inputs), bounds(*inputs), inputs[3])


@points(8, gpu=2, hint=SHAPE_HINT)
def test_shape(student, device):
    """The output has shape (..., Tq, d_v) and the weights have shape (..., Tq, Tk)."""
    cases = masked(device, "no mask", "padding mask, float", "causal mask, bool", "random mask, int")
    for form, (Q, K, V, _), answer in student.each(cases):
        with expect.case(form):
            tried(*answer(), Q, K, V)
            expect.stays_on_device(student.last, hint="Make new tensors on the device of the inputs.")


@points(12, gpu=3, hint=ROWS_HINT)
def test_row_sum(student, device):
    """The weights of each query sum to 1."""
    cases = masked(device, "random mask, float", "causal mask, int", "padding mask, bool", "no mask")
    for form, (Q, K, V, mask), answer in student.each(cases):
        with expect.case(form):
            output, weights = answer()
            tried(output, weights, Q, K, V)
            sums, limit = weights.double().sum(-1), row_sum_bound(Q, K, mask)
            name = "The sum of a query's weights"
            expect.close(sums, torch.ones(sums.shape), bound=limit, name=name, axes=("head", "query"))


@points(16, gpu=4, hint=MASK_HINT)
def test_causal_zero(student, reference, device):
    """A key that the mask hides has a weight of exactly 0, and the other keys have more."""
    cases = masked(device, "causal mask, float", "padding mask, int", "random mask, bool", "no mask")
    for form, (Q, K, V, mask), answer in student.each(cases):
        with expect.case(form):
            output, weights = answer()
            tried(output, weights, Q, K, V)
            if mask is not None:
                expect.zero(weights, mask == 0, name="The weight of a hidden key", axes=BY_KEY)
            seen = reference(Q, K, V, mask)[1] > NOTICEABLE
            share = float((weights[seen] > 0).double().mean())
            expect.true(share > MOST, "Keys that the query may look at have no weight above 0.")


@points(20, gpu=5, hint=NUMBERS_HINT)
def test_sdpa_parity(student, reference, device):
    """The output and the weights are the numbers that PyTorch's own attention computes."""
    for form, (Q, K, V, mask), answer in student.each(masked(device, *MASKED)):
        with expect.case(form):
            got = answer()
            shaped(*got, Q, K, V)
            wanted, limits = reference(Q, K, V, mask), bounds(Q, K, V, mask)
            same_as_library(wanted[0], limits[0], Q, K, V, mask)
            agree(got, wanted, limits, mask)


def same_as_library(output: Tensor, limit: Tensor, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None) -> None:
    """The reference's output is the library's. If not, we are wrong, and no student may pay for it."""
    library = library_attention(Q, K, V, None if mask is None else mask != 0)
    if not bool(((library.double() - output).abs() <= limit).all()):
        raise GraderFault("The reference and the library's attention disagree: no mark can be trusted.")


# --- what the classic four leave open: 30 points ---


@points(3, hint="Any mask that broadcasts to (..., Tq, Tk) is allowed, as bool, int or float. 0 and False hide a key.")
def test_mask_forms(student, reference):
    """Masks of every shape and type work."""
    Q, K, V = qkv(SIZES)
    forms = {
        "bool mask of shape (B, 1, 1, Tk)": padding(SIZES),
        "int32 mask of shape (B, H, Tq, Tk)": scattered(SIZES, SIZES.H).int(),
        "float mask of shape (1, 1, Tq, Tk)": causal(SIZES)[None, None].float(),
    }
    judge(student, reference, {words: (Q, K, V, mask) for words, mask in forms.items()})


@points(3, hint="The scale is the square root of d_k, the length of one query. Read it from Q: do not write a number.")
def test_scale_follows_d_k(student, reference):
    """The scores are divided by the square root of d_k, whatever d_k is."""
    judge(student, reference, {f"d_k = {d_k}": (*qkv(SIZES._replace(d_k=d_k)), None) for d_k in (4, 10)})


@points(2, hint="Take every size from the tensors. Queries and keys may differ in number, and a size may be 1.")
def test_other_sizes(student, reference):
    """More queries than keys work, and so do sizes of 1."""
    others = {
        "more queries than keys": Sizes(B=2, H=3, Tq=8, Tk=5, d_k=4, d_v=6),
        "one sequence, one head, one query": Sizes(B=1, H=1, Tq=1, Tk=4, d_k=3, d_v=2),
    }
    judge(student, reference, {words: (*qkv(sizes), scattered(sizes)) for words, sizes in others.items()})


@points(2, hint="Count dimensions from the end: -1 and -2. Then it does not matter how many come before.")
def test_leading_dimensions(student, reference):
    """Inputs of two and three dimensions work like those of four."""
    sizes = Sizes(Tq=8, Tk=11)
    leads = {"2-D: (T, d)": (), "3-D: (B, T, d)": (5,)}
    judge(student, reference, {words: (*qkv(sizes, lead=lead), causal(sizes)) for words, lead in leads.items()})


@points(1, hint="After a transpose, view() does not work any more; reshape() and the matrix product do.")
def test_transposed_inputs(student, reference):
    """Inputs that are transposed views of other tensors work."""
    Q, K, V = qkv(SIZES)
    Q, V = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (Q, V))  # as after splitting heads
    K = K.transpose(2, 3).contiguous().transpose(2, 3)
    answer = student(Q, K, V, None)
    shaped(*answer, Q, K, V)
    agree(answer, reference(Q, K, V), bounds(Q, K, V))


@points(2, hint="Operators such as /= and functions whose names end in _ write into a tensor of the caller's.")
def test_inputs_unchanged(student):
    """Q, K, V and the mask are left as they were."""
    for form, (Q, K, V, _), answer in student.each(masked("cpu", "random mask, bool", "padding mask, float")):
        with expect.case(form):
            tried(*answer(), Q, K, V)
            expect.unchanged(student.last)


@points(3, hint="Tensor operations carry gradients. detach(), .data, item(), NumPy and torch.tensor(...) do not.")
def test_gradients(student, reference):
    """Gradients flow back to Q, K and V, and they are right."""
    Q, K, V = qkv(SIZES)
    mask = scattered(SIZES).long()
    directions = torch.randn(SIZES.output), torch.randn(SIZES.weights)
    answer, gradients = student.vjp(Q, K, V, mask, cotangents=directions)
    shaped(*answer, Q, K, V)
    sources = [x.double().requires_grad_() for x in (Q, K, V)]
    wanted = vjp(reference(*sources, mask), sources, [x.double() for x in directions])
    limits = gradient_bounds(Q, K, V, mask, *directions)
    expect.true(len(gradients) == len(wanted), "There is not one gradient each for Q, K and V.")
    for name, got, want, limit in zip("QKV", gradients, wanted, limits, strict=True):
        if got is None:
            raise CheckFailure(f"No gradient reaches {name}.")
        axes = ("query" if name == "Q" else "key", "feature")
        expect.close(got, want, bound=limit, name=f"The gradient of {name}", axes=axes)


@points(3, hint="exp(1000) is too large for any float. Softmax stays the same if a number is taken off a whole row.")
def test_large_scores(student, reference):
    """Large scores do not overflow."""
    levels = (100.0, 1000.0)
    judge(student, reference, {f"scores of about {level:g}": (*large(SIZES, level), None) for level in levels})


@points(3, hint="New tensors take their dtype from the inputs, and the results have the dtype of the inputs.")
def test_dtypes(student, reference):
    """Each floating dtype works, and both results keep it."""
    sizes = SIZES._replace(d_k=4)
    mask = causal(sizes)
    # float16 comes without a mask: it can't hold -1e9, which is right everywhere else
    masks = {torch.float64: mask, torch.float32: mask, torch.bfloat16: mask, torch.float16: None}
    cases = {str(dtype).removeprefix("torch."): (*qkv(sizes, dtype), given) for dtype, given in masks.items()}
    for words, inputs, answer in student.each(cases):
        with expect.case(words):
            got = answer()
            shaped(*got, *inputs[:3])
            expect.dtype(got[0], inputs[0].dtype, name="The output")
            expect.dtype(got[1], inputs[0].dtype, name="The weights tensor")
            agree(got, reference(*inputs), bounds(*inputs), inputs[3])


@points(1, hint="Nothing random, such as dropout, and nothing that is kept from one call to the next belongs in here.")
def test_same_answer_twice(student):
    """Two equal calls give equal answers."""
    Q, K, V = qkv(SIZES)
    mask = scattered(SIZES)
    first, second = [answer() for answer in [student.later(Q, K, V, mask) for _ in range(2)]]
    tried(*first, Q, K, V)
    expect.equal(second[1], first[1], name="The weights tensor of the second call", axes=BY_KEY)
    expect.equal(second[0], first[0], name="The output of the second call", axes=BY_FEATURE)


@points(2, hint="A query may learn nothing about keys and values that the mask hides from it, not even a little.")
def test_future_is_hidden(student):
    """With a causal mask, changing the future leaves the past as it was."""
    sizes, now = Sizes(B=2, H=3, Tq=6, Tk=6, d_k=5, d_v=4), 3
    Q, K, V = qkv(sizes)
    mask = causal(sizes)
    later = torch.arange(sizes.Tk)[:, None] > now
    loud, other = torch.where(later, 1e30 * V, V), [torch.where(later, torch.randn_like(x), x) for x in (Q, K)]
    asked = [student.later(*inputs, mask) for inputs in ((Q, K, V), (Q, K, loud), (*other, V))]
    before = asked[0]()
    tried(*before, Q, K, V)
    # Values enter only through weights that are 0, so not a bit may change. Queries and keys may enter a shift
    # that cancels again: that leaves rounding, and each call has its share of it.
    nothing = (torch.zeros(()), torch.zeros(()))
    rounding = tuple(limit[..., : now + 1, :] for limit in bounds(Q, K, V, mask))
    for words, answer, limits in (
        ("the values of later positions change", asked[1], nothing),
        ("the queries and keys of later positions change", asked[2], rounding),
    ):
        with expect.case(words):
            after = answer()
            shaped(*after, Q, K, V)
            past = [tuple(x[..., : now + 1, :] for x in pair) for pair in (after, before)]
            agree(past[0], past[1], limits)


@points(
    2,
    watched=True,
    hint="Matrix products and softmax work on all sequences, heads and positions at once, without a loop.",
)
def test_no_loops(student):
    """The number of tensor operations does not grow with the sizes of the inputs."""
    small = Sizes(B=2, H=3, Tq=4, Tk=5, d_k=6, d_v=7)
    larger = {"B": 6, "H": 7, "Tq": 9, "Tk": 10, "d_k": 12, "d_v": 13}
    few, many = operations(student, small, small._replace(**larger))
    if few and many <= few + EXTRA_OPS:
        return
    expect.true(
        few > 0,
        "No tensor operation of PyTorch was seen in your function. What runs in a thread of its own is not seen.",
    )
    counts = operations(student, *(small._replace(**{name: size}) for name, size in larger.items()))
    for (name, size), count in zip(larger.items(), counts, strict=True):
        before = getattr(small, name)
        message = f"With {name} = {before} your function takes {few} tensor operations, with {name} = {size} {count}."
        expect.true(count <= few + EXTRA_OPS, message)
    expect.true(False, f"Small inputs take {few} tensor operations, large ones {many}.")


def operations(student, *several: Sizes) -> list[int]:
    """How many operators the student's function ran for inputs of each of these sizes."""
    counts = []
    for _, inputs, answer in student.each({str(sizes): (*qkv(sizes), causal(sizes)) for sizes in several}):
        tried(*answer(), *inputs[:3])
        counts.append(sum(student.last.ops.values()))
    return counts


@points(1, watched=True, hint="Write the steps yourself: matrix products, a scale, the mask and a softmax.")
def test_from_scratch(student):
    """The library's ready-made attention is not used."""
    Q, K, V = qkv(SIZES)
    tried(*student(Q, K, V, causal(SIZES)), Q, K, V)
    used = sorted(name for name in student.last.ops if "attention" in name)
    expect.true(not used, f"Your function uses the library's own attention ({', '.join(used)}).")


@points(1, hint="Give the mask the default None, and apply it only if it is not None.")
def test_mask_is_optional(student, reference):
    """The mask may be left out, and it may be passed by its name."""
    Q, K, V = qkv(SIZES)
    mask = scattered(SIZES)
    cases = (("no mask given", student.later(Q, K, V), None), ("mask=...", student.later(Q, K, V, mask=mask), mask))
    for words, answer, known in cases:
        with expect.case(words):
            got = answer()
            shaped(*got, Q, K, V)
            agree(got, reference(Q, K, V, known), bounds(Q, K, V, known), known)


@points(1, hint="A query without keys has no sensible answer: NaN and 0 are fine there. The other queries have one.")
def test_query_without_keys(student, reference):
    """A query that may look at no key does not disturb the others."""
    sizes, lost = Sizes(Tq=8, Tk=11), 2
    Q, K, V = qkv(sizes)
    mask = scattered(sizes)
    mask[0, :, lost] = False
    output, weights = student(Q, K, V, mask)
    shaped(output, weights, Q, K, V)
    row, mixed = weights[0, :, lost].double(), output[0, :, lost].double()  # (H, Tk), (H, d_v)
    empty = bool((row.isnan() | (row == 0)).all())
    # a large negative number in place of -inf leaves a mixture of the values there
    shares = bool((row >= 0).all()) and bool(((row.sum(-1) - 1).abs() <= row_sum_bound(Q, K)[0, :, lost]).all())
    expect.true(empty or shares, "The weights of the query without keys are neither NaN, nor 0, nor shares of 1.")
    product = (row.nan_to_num()[:, None] @ V[0].double())[:, 0]
    near = (mixed - product).abs() <= bounds(Q, K, V)[0][0, :, lost]
    fine = bool((mixed.isnan() | (mixed == 0) | near).all())
    expect.true(fine, "The output of the query without keys is neither NaN, nor 0, nor its weights times V.")
    wanted = tuple(x.clone() for x in reference(Q, K, V, mask))
    for x, own in zip(wanted, (output, weights), strict=True):
        x[0, :, lost] = own[0, :, lost]  # whatever it is: it was judged above, and the others keep their places
    agree((output, weights), wanted, bounds(Q, K, V, mask), mask)
