"""Known wrong ideas about multi-head attention: each is a setting of the implementation's knobs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from inputs import matrices, sequences, square
from torch import Tensor

from grader.misconception import Bank, Inputs, Misconception

# --- the implementation, step by step; defaults are right ---


def _apply(x: Tensor, W: Tensor, stored: str) -> Tensor:
    return x @ (W.mT if stored == "as Linear" else W)


def queries(x: Tensor, context: Tensor, W_q: Tensor, *, asks: str = "x", stored: str = "as Linear") -> Tensor:
    return _apply(x if asks == "x" else context, W_q, stored)  # (B, Tq, H d_k)


def keys(x: Tensor, context: Tensor, W_k: Tensor, *, looks_at: str = "context", stored: str = "as Linear") -> Tensor:
    return _apply(context if looks_at in ("context", "keys only") else x, W_k, stored)  # (B, Tk, H d_k)


def values(x: Tensor, context: Tensor, W_v: Tensor, *, looks_at: str = "context", stored: str = "as Linear") -> Tensor:
    return _apply(context if looks_at == "context" else x, W_v, stored)  # (B, Tk, H d_v)


def _split(projected: Tensor, heads: int, how: str) -> Tensor:
    """(B, T, H d) -> (B, H, T, d), rightly when `how` is "columns"."""
    B, T, width = projected.shape
    if how == "reshaped":
        return projected.reshape(B, heads, T, width // heads)
    if how == "interleaved":
        return projected.reshape(B, T, width // heads, heads).permute(0, 3, 1, 2)
    if how == "never swapped":
        return projected.reshape(B, T, heads, width // heads)
    return projected.reshape(B, T, heads, width // heads).transpose(1, 2)


def q(queries: Tensor, num_heads: int, *, heads: str = "columns") -> Tensor:
    return _split(queries, num_heads, heads)


def k(keys: Tensor, num_heads: int, *, heads: str = "columns") -> Tensor:
    return _split(keys, num_heads, heads)


def v(values: Tensor, num_heads: int, *, heads: str = "columns") -> Tensor:
    return _split(values, num_heads, heads)


def scores(q: Tensor, k: Tensor, x: Tensor, num_heads: int, *, scale: str = "root of d_k") -> Tensor:
    d_k = q.size(-1)
    divisor = {
        "root of d_k": math.sqrt(d_k),
        "none": 1.0,
        "d_k": float(d_k),
        "root of D": math.sqrt(x.size(-1)),
        "root of H d_k": math.sqrt(d_k * num_heads),
        "root of H": math.sqrt(num_heads),
    }[scale]
    return q @ k.mT / divisor  # (B, H, Tq, Tk)


def masked(scores: Tensor, mask: Tensor | None, *, hide: str = "zeros", fill: float = -math.inf) -> Tensor:
    if mask is None or hide == "nothing":
        return scores
    if hide == "first head only":
        first = torch.arange(scores.size(1), device=scores.device)[:, None, None] == 0
        return scores.masked_fill((mask == 0) & first, fill)
    return scores.masked_fill(mask != 0 if hide == "ones" else mask == 0, fill)


DIMENSIONS = {"keys": -1, "queries": -2, "heads": 1, "batch": 0}


def weights(masked: Tensor, *, softmax_over: str = "keys", answer: str = "every head") -> Tensor:
    shares = torch.softmax(masked, dim=DIMENSIONS[softmax_over])
    return shares.mean(1) if answer == "mean of heads" else shares


def merged(
    masked: Tensor, v: Tensor, *, softmax_over: str = "keys", join: str = "swapped", heads: str = "columns"
) -> Tensor:
    mixed = torch.softmax(masked, dim=DIMENSIONS[softmax_over]) @ v  # (B, H, Tq, d_v)
    B, H, T, d_v = mixed.shape
    if heads == "never swapped":
        return mixed.reshape(B, H, T * d_v)
    if join == "reshaped":
        return mixed.reshape(B, T, H * d_v)
    if join == "interleaved":
        return mixed.permute(0, 2, 3, 1).reshape(B, T, H * d_v)
    return mixed.transpose(1, 2).reshape(B, T, H * d_v)


def output(merged: Tensor, W_o: Tensor, *, project_out: bool = True, stored: str = "as Linear") -> Tensor:
    return _apply(merged, W_o, stored) if project_out else merged


def probes() -> Sequence[Inputs]:
    """Square sizes: there each wrong idea gives numbers instead of an exception."""
    sizes = square(H=2, d=3)
    x, context = sequences(sizes)
    return [((x, context, *matrices(sizes), sizes.H), {}), ((x, x, *matrices(sizes), sizes.H), {})]


IDEAS = (
    Misconception(
        id="heads_reshaped",
        title="the heads are cut out with reshape(B, H, T, d) in one go",
        explanation="That gives the right shape, but it cuts the sequence into pieces: a head gets all "
        "the numbers of a few positions instead of a few numbers of every position.",
        hint="Print the notebook's table of positions cut in both ways, and see which positions head 0 gets.",
        section="2. Split the heads",
        knobs={"heads": "reshaped"},
        seen="common",
    ),
    Misconception(
        id="heads_interleaved",
        title="the heads take turns over the columns instead of each having its own block of them",
        explanation="Head h should have columns h d_k to (h + 1) d_k - 1, which are next to each other. "
        "With the head as the last of the two new dimensions, it gets every H-th column.",
        hint="In which order must the two new dimensions be, so that a head's columns are next to each other?",
        section="2. Split the heads",
        knobs={"heads": "interleaved"},
    ),
    Misconception(
        id="heads_never_swapped",
        title="T and H are not swapped after the split, so the heads of one position attend to each other",
        explanation="The matrix product and the softmax work on the last two dimensions. These must be "
        "(T, d); without the swap they are (H, d), and each position mixes its own heads "
        "instead of looking at other positions.",
        hint="Write down the shape of q before the product: which dimensions are the last two?",
        section="2. Split the heads",
        knobs={"heads": "never swapped"},
    ),
    Misconception(
        id="merged_without_swap",
        title="the heads are joined without swapping T and H back",
        explanation="The shape comes out right, but each row of the result holds pieces of several "
        "positions of one head instead of all heads of one position.",
        hint="Undo the split in the opposite order: what has to happen before the last two dimensions are joined?",
        section="4. Merge the heads",
        knobs={"join": "reshaped"},
        seen="common",
    ),
    Misconception(
        id="merged_interleaved",
        title="the heads' numbers take turns in the joined rows instead of standing head by head",
        explanation="W_o expects all numbers of head 0 first, then all of head 1, and so on.",
        hint="Which of H and d_v must be the last dimension before they are joined?",
        section="4. Merge the heads",
        knobs={"join": "interleaved"},
        seen="rare",
    ),
    Misconception(
        id="scaled_by_model_width",
        title="the scores are divided by the square root of the model's width instead of one head's",
        explanation="Each score sums up d_k products, one for each number of one head's query. Dividing "
        "by the root of the whole width makes the scores too small and the weights too even.",
        hint="How many products are summed up in one score?",
        section="3. Attend",
        knobs={"scale": "root of D"},
        also=({"scale": "root of H d_k"},),
        seen="common",
    ),
    Misconception(
        id="not_scaled",
        title="the scores are not divided by the square root of d_k",
        explanation="Unscaled scores grow with d_k, and the softmax then puts nearly everything on one key.",
        hint="What happens between the scores and the softmax?",
        section="3. Attend",
        knobs={"scale": "none"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_d_k",
        title="the scores are divided by d_k instead of its square root",
        explanation="The typical size of a sum of d_k products is the root of d_k. Dividing by d_k makes "
        "the weights too even.",
        hint="Which power of d_k is the typical size of a score?",
        section="3. Attend",
        knobs={"scale": "d_k"},
    ),
    Misconception(
        id="scaled_by_heads",
        title="the scores are divided by the square root of the number of heads",
        explanation="The scale belongs to the length of one head's query, d_k, not to how many heads there are.",
        hint="Look at what the scale is computed from.",
        section="3. Attend",
        knobs={"scale": "root of H"},
        seen="rare",
    ),
    Misconception(
        id="softmax_over_queries",
        title="the softmax runs over the queries instead of the keys",
        explanation="For each query, the weights of all the keys must sum to 1. Over the queries, the "
        "queries compete with each other for a key.",
        hint="Over which dimension of (B, H, Tq, Tk) do the keys run?",
        section="3. Attend",
        knobs={"softmax_over": "queries"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_heads",
        title="the softmax runs over the heads",
        explanation="With four dimensions, dim=1 is the heads: they then compete with each other for "
        "each pair of query and key. The weights of the keys must sum to 1 within each head.",
        hint="Count the dimension of the softmax from the end.",
        section="3. Attend",
        knobs={"softmax_over": "heads"},
    ),
    Misconception(
        id="mask_ignored",
        title="the mask has no effect",
        explanation="masked_fill returns a new tensor; if that is not kept, nothing is hidden.",
        hint="Follow the mask from the argument to the softmax: does its effect arrive there?",
        section="3. Attend",
        knobs={"hide": "nothing"},
        seen="common",
    ),
    Misconception(
        id="mask_inverted",
        title="the mask hides what it should show",
        explanation="In this course True or 1 means that a query may look at a key.",
        hint="What does a 1 in the mask mean here?",
        section="3. Attend",
        knobs={"hide": "ones"},
        seen="common",
    ),
    Misconception(
        id="mask_on_first_head",
        title="the mask is applied to the first head only",
        explanation="A mask without a dimension for the heads holds for all of them: broadcasting does that by itself.",
        hint="Do all heads get the mask?",
        section="3. Attend",
        knobs={"hide": "first head only"},
        seen="rare",
    ),
    Misconception(
        id="mask_with_small_number",
        title="hidden scores are set to a small number, such as 0 or 1e-9, instead of minus infinity",
        explanation="The exponential of 0 is 1, so a hidden key still gets a share.",
        hint="Which score has the exponential 0?",
        section="3. Attend",
        knobs={"fill": 0.0},
        also=({"fill": 1e-9},),
    ),
    Misconception(
        id="context_ignored",
        title="keys and values are made from x, and the context is not used",
        explanation="That is right only for self-attention, where both are the same. In cross-attention, "
        "x asks and the context answers.",
        hint="From which sequence are the keys and the values made?",
        section="1. Project",
        knobs={"looks_at": "x"},
        seen="common",
    ),
    Misconception(
        id="values_from_x",
        title="the values are made from x instead of the context",
        explanation="A query finds a position of the context by its key, so what it takes must come from "
        "that position.",
        hint="From which sequence are the values made?",
        section="1. Project",
        knobs={"looks_at": "keys only"},
    ),
    Misconception(
        id="queries_from_context",
        title="the queries are made from the context instead of x",
        explanation="x is the sequence that asks: there must be one query for each of its positions.",
        hint="From which sequence are the queries made?",
        section="1. Project",
        knobs={"asks": "context"},
    ),
    Misconception(
        id="matrices_not_transposed",
        title="the inputs are multiplied with W instead of its transpose",
        explanation="The matrices have one row for each output, as nn.Linear stores them, so a projection is x @ W.T.",
        hint="Look at the shapes of x and of W_q: which dimension must meet which?",
        section="1. Project",
        knobs={"stored": "transposed"},
        seen="common",
    ),
    Misconception(
        id="no_output_projection",
        title="W_o is not used",
        explanation="The joined heads are mixed by W_o. Without it each number of the result comes from "
        "one head alone.",
        hint="Which of the four matrices does your function not use?",
        section="5. Project out",
        knobs={"project_out": False},
    ),
    Misconception(
        id="weights_averaged",
        title="the returned weights are the mean over the heads",
        explanation="nn.MultiheadAttention does that unless told otherwise. Here the weights of every "
        "head are asked for.",
        hint="Which shape should the weights have?",
        section="What goes in and what comes out",
        knobs={"answer": "mean of heads"},
    ),
)

BANK = Bank(
    arguments=("x", "context", "W_q", "W_k", "W_v", "W_o", "num_heads", "mask"),
    returns=("output", "weights"),
    implementation=(queries, keys, values, q, k, v, scores, masked, weights, merged, output),
    misconceptions=IDEAS,
    probes=probes,
)
