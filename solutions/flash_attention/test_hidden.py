"""The hidden checks of "Attention in blocks": 100 points, 10 of them on the accelerator."""

from __future__ import annotations

from typing import NamedTuple

import torch
from bounds import bounds
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as library_attention

from grader.checks import CheckFailure, expect, points, vjp
from grader.errors import GraderFault

MEND_HINT = (
    "When the maximum rises, what has been summed up so far is relative to the old one. Both the sum and the output "
    "must be multiplied by exp(m_old - m_new)."
)
SPARE = 2
"""How many times the largest tensor that is needed a tensor may be: room for a copy or two joined ones."""


class Sizes(NamedTuple):
    """All different, so that no two dimensions can be mixed up."""

    B: int = 2
    H: int = 3
    Tq: int = 5
    Tk: int = 12
    d_k: int = 6
    d_v: int = 4


SIZES = Sizes()


def qkv(sizes: Sizes) -> tuple[Tensor, ...]:
    """Q (B, H, Tq, d_k), K (B, H, Tk, d_k) and V (B, H, Tk, d_v)."""
    shapes = ((sizes.Tq, sizes.d_k), (sizes.Tk, sizes.d_k), (sizes.Tk, sizes.d_v))
    return tuple(torch.randn(sizes.B, sizes.H, *shape) for shape in shapes)


def judge(student, reference, cases: dict[str, tuple], *, lse: bool = True) -> None:
    """In each case the output, and lse if asked for, are the reference's and the library's within the bounds."""
    for words, inputs, answer in student.each(cases):
        with expect.case(words):
            got = answer()
            wanted, limits = reference(*inputs), bounds(*inputs)
            library = library_attention(*(x.double() for x in inputs[:3]))
            if not bool(((library - wanted[0]).abs() <= limits[0]).all()):
                raise GraderFault("The reference and the library's attention disagree: no mark can be trusted.")
            expect.shape(got[0], wanted[0].shape, name="The output")
            expect.close(got[0], wanted[0], bound=limits[0], name="The output", axes=("query", "feature"))
            if lse:
                same_lse(got[1], wanted[1], limits[1])


def same_lse(got: Tensor, wanted: Tensor, limit: Tensor) -> None:
    """lse has the right shape and the right numbers."""
    expect.shape(got, wanted.shape, name="lse")
    expect.close(got, wanted, bound=limit, name="lse", axes=("head", "query"))


def in_blocks(sizes: Sizes, *block_sizes: int) -> dict[str, tuple]:
    """Inputs of one size, taken in blocks of different sizes."""
    inputs = qkv(sizes)
    return {f"{sizes.Tk} keys, block size {block_size}": (*inputs, block_size) for block_size in block_sizes}


@points(8, gpu=2, hint="lse has one number for each query: squeeze its last dimension.")
def test_shape(student, device):
    """The output has shape (..., Tq, d_v) and lse has shape (..., Tq)."""
    Q, K, V = qkv(SIZES)
    leads = {"2-D inputs": (0, 0), "3-D inputs": (0,), "4-D inputs": ()}
    cases = {words: (Q[lead], K[lead], V[lead], 4) for words, lead in leads.items()}
    for words, inputs, answer in student.each(cases):
        with expect.case(words):
            output, lse = answer()
            shape = inputs[0].shape[:-1]
            expect.shape(output, (*shape, SIZES.d_v), name="The output")
            expect.shape(lse, shape, name="lse")
            expect.stays_on_device(student.last, hint="Make new tensors on the device of the inputs.")


@points(8, hint="With one block this is plain attention: scale the scores, and divide by the sum at the end.")
def test_one_block(student, reference):
    """One block that holds all keys gives plain attention."""
    judge(student, reference, in_blocks(SIZES, SIZES.Tk, SIZES.Tk + 5), lse=False)


@points(14, gpu=4, hint=MEND_HINT)
def test_many_blocks(student, reference, device):
    """Several blocks give the output of plain attention."""
    judge(student, reference, in_blocks(SIZES, 1, 2, 3, 4, 6), lse=False)


@points(8, gpu=2, hint="The last block is shorter when block_size does not divide the number of keys. Its keys count.")
def test_ragged_last_block(student, reference, device):
    """A last block that is shorter than the others counts like any other."""
    cases: dict[str, tuple] = {}
    for keys, block_size in ((7, 3), (7, 4), (5, 2), (11, 10)):
        cases |= in_blocks(SIZES._replace(Tk=keys), block_size)
    judge(student, reference, cases, lse=False)


@points(8, gpu=2, hint="The sum is relative to the maximum: lse = m + log(l).")
def test_log_sum_exp(student, reference, device):
    """lse is the logarithm of the sum of the exponentials of the scaled scores."""
    for words, inputs, answer in student.each(in_blocks(SIZES, SIZES.Tk, 4, 5)):
        with expect.case(words):
            same_lse(answer()[1], reference(*inputs)[1], bounds(*inputs)[1])


@points(
    26,
    watched=True,
    hint="Compute the scores of one block at a time, inside the loop, and keep only the three running values.",
)
def test_memory(student):
    """No tensor as large as the table of all scores is made."""
    sizes, block_size = Sizes(B=1, H=2, Tq=96, Tk=160, d_k=4, d_v=5), 8
    student(*qkv(sizes), block_size)
    largest, heads = student.last.largest, sizes.B * sizes.H
    needed = heads * max(sizes.Tq * block_size, sizes.Tk * max(sizes.d_k, sizes.d_v), sizes.Tq * sizes.d_v)
    table = heads * sizes.Tq * sizes.Tk
    message = (
        f"Your largest tensor holds {largest} numbers, the table of all scores would hold {table}, and {needed} are "
        f"enough for {sizes.Tq} queries, {sizes.Tk} keys and blocks of {block_size}."
    )
    expect.true(
        largest > 0,
        "No tensor was seen that your function makes with PyTorch. What runs in a thread of its own is not seen.",
    )
    expect.true(largest <= SPARE * needed, message)


@points(8, hint="Take the running maximum off before the exponential, and start it below every possible score.")
def test_large_scores(student, reference):
    """Large scores of either sign do not overflow and do not vanish."""
    Q, K, V = qkv(SIZES)
    half = SIZES.Tk // 2
    twice = torch.arange(SIZES.Tk) % half  # each key twice: else one key has all the weight, and the sum is always 1
    apart = 1.0 + torch.rand(half, 1)  # all keys point one way, each at its own length
    along = torch.randn(SIZES.B, SIZES.H, 1, SIZES.d_k)
    pairs = {
        "scores of either sign, up to several hundred": (150.0 * Q, K[..., :half, :]),
        "all scores far above 0": (200.0 * along.expand(Q.shape), apart * along),
        "all scores far below 0": (-200.0 * along.expand(Q.shape), apart * along),
    }
    cases = {words: (queries.contiguous(), keys[..., twice, :], V, 2) for words, (queries, keys) in pairs.items()}
    judge(student, reference, cases)


@points(4, hint=MEND_HINT)
def test_order_of_keys(student, reference):
    """It does not matter whether the largest score comes first or last."""
    sizes = SIZES._replace(Tq=1)
    Q, K, V = qkv(sizes)
    order = (Q @ K.mT).argsort(-1)  # (B, H, 1, Tk), rising
    orders = {"rising scores": order.mT, "falling scores": order.flip(-1).mT}  # (B, H, Tk, 1)
    cases = {words: (Q, K.take_along_dim(index, -2), V.take_along_dim(index, -2), 3) for words, index in orders.items()}
    judge(student, reference, cases)


@points(3, hint="Tensor operations carry gradients. detach(), item() and writing into a slice in place do not.")
def test_gradients(student, reference):
    """Gradients flow back to Q, K and V, and they are right."""
    sizes = SIZES._replace(Tk=9)  # a size that no other check has
    for words in ("some numbers", "other numbers"):
        given = [tensor.double() for tensor in qkv(sizes)]
        shapes = (sizes.B, sizes.H, sizes.Tq, sizes.d_v), (sizes.B, sizes.H, sizes.Tq)
        directions = tuple(torch.randn(shape, dtype=torch.float64) for shape in shapes)
        with expect.case(words):
            _, gradients = student.vjp(*given, 4, cotangents=directions)
            sources = [tensor.clone().requires_grad_() for tensor in given]
            wanted = vjp(reference(*sources, 4), sources, directions)
            expect.true(len(gradients) == len(wanted), "There is not one gradient each for Q, K and V.")
            for name, got, want in zip("QKV", gradients, wanted, strict=True):
                if got is None:
                    raise CheckFailure(f"No gradient reaches {name}.")
                # float64 leaves about nine digits more than the two that tell a right gradient from a wrong one
                expect.close(got, want, bound=1e-9 * float(want.abs().max()), name=f"The gradient of {name}")


@points(2, hint="Operators such as *= and functions whose names end in _ write into a tensor of the caller's.")
def test_inputs_unchanged(student):
    """Q, K and V are left as they were."""
    student(*qkv(SIZES), 5)
    expect.unchanged(student.last)


@points(1, watched=True, hint="Write the steps yourself: matrix products, a maximum, exponentials and sums.")
def test_from_scratch(student):
    """The library's ready-made attention is not used."""
    student(*qkv(SIZES), 5)
    used = sorted(name for name in student.last.ops if "attention" in name)
    expect.true(not used, f"Your function uses the library's own attention ({', '.join(used)}).")
