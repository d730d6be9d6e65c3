"""Known wrong ideas about the softmax in blocks: each is a setting of the implementation's knobs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from grader.misconception import Bank, Inputs, Misconception


class State(NamedTuple):
    """The running values after the last block."""

    m: Tensor  # (..., Tq, 1)
    l: Tensor  # (..., Tq, 1)  # noqa: E741  # the letter of the papers and the handout
    acc: Tensor  # (..., Tq, d_v)
    blocks: int


def scale(Q: Tensor, *, divisor: str = "root") -> float:
    d_k = Q.size(-1)
    return {"root": math.sqrt(d_k), "none": 1.0, "d_k": float(d_k)}[divisor]


def state(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    block_size: int,
    scale: float,
    *,
    first_maximum: float = -math.inf,
    last_block: str = "kept",
    shift: str = "running",
    mended: str = "both",
    divided: str = "at the end",
) -> State:
    m = Q.new_full((*Q.shape[:-1], 1), first_maximum)
    l = torch.zeros_like(m)  # noqa: E741
    acc = Q.new_zeros((*Q.shape[:-1], V.size(-1)))
    Tk, blocks = K.size(-2), 0
    stop = Tk - Tk % block_size if last_block == "dropped" else Tk
    for start in range(0, stop, block_size):
        keys, values = (x[..., start : start + block_size, :] for x in (K, V))
        scores = Q @ keys.mT / scale  # (..., Tq, block)
        top = scores.amax(-1, keepdim=True)
        new = {"running": torch.maximum(m, top), "block": top, "none": torch.zeros_like(top)}[shift]
        factor = torch.exp(m - new) if shift == "running" and mended != "neither" else torch.ones_like(m)
        p = torch.exp(scores - new)
        if divided == "in each block":
            acc = acc + p @ values / p.sum(-1, keepdim=True)
        else:
            acc = acc * (factor if mended != "sum only" else torch.ones_like(m)) + p @ values
        l = l * (factor if mended != "output only" else torch.ones_like(m)) + p.sum(-1, keepdim=True)  # noqa: E741
        m, blocks = new, blocks + 1
    return State(m, l, acc, blocks)


def output(state: State, *, divided: str = "at the end", averaged: bool = False) -> Tensor:
    if divided == "in each block":
        return state.acc / state.blocks if averaged else state.acc
    return state.acc if divided == "never" else state.acc / state.l


def lse(state: State, *, logarithm: str = "m + log l") -> Tensor:
    value = {
        "m + log l": lambda: state.m + state.l.log(),
        "log l": lambda: state.l.log(),
        "l": lambda: state.l,
        "m": lambda: state.m,
        "m * l": lambda: state.m * state.l,
    }[logarithm]()
    return value.squeeze(-1)


def probes() -> Sequence[Inputs]:
    """Several blocks, the last one shorter, rising and falling maxima."""
    Q, K, V = torch.randn(2, 3, 4), torch.randn(2, 8, 4), torch.randn(2, 8, 5)
    return [((Q, K, V, 3), {}), ((Q, K, V, 8), {})]


IDEAS = (
    Misconception(
        id="output_not_mended",
        title="only the running sum is multiplied by exp(m_old - m_new), not the running output",
        explanation="Both sums are relative to the old maximum. If only one of them is mended, the values of earlier "
        "blocks count too much in the output.",
        hint="Which running values are relative to the maximum?",
        section="3. The new maximum, and mending what is there",
        knobs={"mended": "sum only"},
        seen="common",
    ),
    Misconception(
        id="sum_not_mended",
        title="only the running output is multiplied by exp(m_old - m_new), not the running sum",
        explanation="Both sums are relative to the old maximum. If the sum is not mended, it is too "
        "large, and the output too small.",
        hint="Which running values are relative to the maximum?",
        section="3. The new maximum, and mending what is there",
        knobs={"mended": "output only"},
        seen="common",
    ),
    Misconception(
        id="nothing_mended",
        title="the sums of earlier blocks are kept as they are when the maximum rises",
        explanation="They are relative to the old maximum. Without the factor exp(m_old - m_new), "
        "numbers on different scales are added up.",
        hint="What does exp(score - m) of an earlier block become when m changes?",
        section="3. The new maximum, and mending what is there",
        knobs={"mended": "neither"},
        seen="common",
    ),
    Misconception(
        id="maximum_of_the_block",
        title="each block takes off its own maximum, and the blocks are added up as they are",
        explanation="Then each block is on a scale of its own, and a block of small scores counts as "
        "much as one of large scores.",
        hint="Relative to which maximum must all blocks be when they are added?",
        section="3. The new maximum, and mending what is there",
        knobs={"shift": "block"},
    ),
    Misconception(
        id="no_maximum",
        title="no maximum is taken off before the exponential",
        explanation="The numbers are right while the scores are small. exp(89) is already too large for float32.",
        hint="Try scores of about 1000.",
        section="The idea",
        knobs={"shift": "none"},
        seen="common",
    ),
    Misconception(
        id="maximum_starts_at_zero",
        title="the running maximum starts at 0 instead of minus infinity",
        explanation="If all scores are far below 0, the maximum stays 0, every exponential is 0, and 0 "
        "is divided by 0.",
        hint="Which number is below every score?",
        section="1. Start",
        knobs={"first_maximum": 0.0},
        seen="common",
    ),
    Misconception(
        id="last_block_dropped",
        title="the keys after the last full block are left out",
        explanation="When block_size does not divide the number of keys, the last block is shorter, but "
        "its keys count.",
        hint="How many blocks are there for 7 keys and a block size of 3?",
        section="2. One block",
        knobs={"last_block": "dropped"},
        seen="common",
    ),
    Misconception(
        id="softmax_in_each_block",
        title="a whole softmax is computed in each block, and the results are added or averaged",
        explanation="Then every block counts the same, however small its scores are. The division must "
        "wait until the sum of the whole row is known.",
        hint="When is the sum of a whole row known?",
        section="5. Finish",
        knobs={"divided": "in each block", "averaged": True},
        also=({"divided": "in each block"},),
    ),
    Misconception(
        id="never_divided",
        title="the output is not divided by the sum",
        explanation="acc is the sum of exp(score - m) times the value. Only divided by l does it become a mean.",
        hint="What is missing after the last block?",
        section="5. Finish",
        knobs={"divided": "never"},
        seen="rare",
    ),
    Misconception(
        id="not_scaled",
        title="the scores are not divided by the square root of d_k",
        explanation="The block's scores are scaled as in plain attention.",
        hint="Compare the scores of a block with those of the first exercise.",
        section="2. One block",
        knobs={"divisor": "none"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_d_k",
        title="the scores are divided by d_k instead of its square root",
        explanation="The typical size of a sum of d_k products is the root of d_k.",
        hint="Which power of d_k is the typical size of a score?",
        section="2. One block",
        knobs={"divisor": "d_k"},
    ),
    Misconception(
        id="lse_without_maximum",
        title="lse is the logarithm of the running sum, without the maximum",
        explanation="The sum is relative to the maximum: l is the sum of exp(score - m). The logarithm of the sum of "
        "exp(score) is m + log(l).",
        hint="What has been taken off every score before it was summed up?",
        section="5. Finish",
        knobs={"logarithm": "log l"},
        seen="common",
    ),
    Misconception(
        id="lse_is_the_sum",
        title="the running sum is returned in place of its logarithm",
        explanation="The second result is lse = m + log(l).",
        hint="What does the name lse stand for?",
        section="5. Finish",
        knobs={"logarithm": "l"},
        also=({"logarithm": "m * l"},),
    ),
    Misconception(
        id="lse_is_the_maximum",
        title="the largest score is returned in place of lse",
        explanation="The second result is lse = m + log(l).",
        hint="What does the name lse stand for?",
        section="5. Finish",
        knobs={"logarithm": "m"},
        seen="rare",
    ),
)

BANK = Bank(
    arguments=("Q", "K", "V", "block_size"),
    returns=("output", "lse"),
    implementation=(scale, state, output, lse),
    misconceptions=IDEAS,
    probes=probes,
)
