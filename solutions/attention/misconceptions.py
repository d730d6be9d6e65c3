"""The wrong ideas about attention: each sets a knob of `knobs.py` and says what to learn from it.

They stand in the `wrong_*.py` files beside this one, a file for each section of the handout. A title completes
"Your result is exactly what one gets when ...". An explanation says what the idea does to the numbers and why the
right way is right. A hint says where to look and does not give the line away.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from knobs import STEPS
from torch import Tensor
from wrong_devices import DEVICES
from wrong_mask import MASK
from wrong_mix import MIX
from wrong_scale import SCALE
from wrong_scores import SCORES
from wrong_softmax import SOFTMAX

from grader.misconception import Bank, Inputs


def _inputs(
    lead: tuple[int, ...], tq: int, tk: int, dk: int, dv: int, seed: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    source = torch.Generator().manual_seed(seed)
    shapes = ((*lead, tq, dk), (*lead, tk, dk), (*lead, tk, dv))
    Q, K, V = (torch.randn(shape, generator=source, dtype=torch.float64).to(dtype) for shape in shapes)
    return Q, K, V


def probes() -> Sequence[Inputs]:
    """Small calls in which ideas differ that look alike in most others."""
    square = torch.ones(5, 5, dtype=torch.float64).tril()
    bands = torch.ones(4, 6, dtype=torch.bool).tril(1).triu(-1)
    empty = square.clone()
    empty[2] = 0
    padding = (torch.arange(6) < torch.tensor([[6], [4]])).reshape(2, 1, 1, 6)
    Q, K, V = _inputs((2, 3), 5, 5, 7, 4, 8)
    flat = _inputs((2, 3), 4, 6, 7, 5, 8)
    cube = _inputs((3, 3), 3, 3, 3, 3, 11)
    return (
        ((torch.zeros_like(flat[0]), *flat[1:]), {}),  # all scores are 0, so that their scale and sign do not matter
        ((*_inputs((2, 3), 5, 5, 6, 4, 2), square), {}),  # causal, as many queries as keys
        (_inputs((2, 3), 5, 5, 6, 4, 9), {}),  # as many queries as keys: no size is wrong
        ((torch.zeros_like(Q), K, V), {}),  # for those who need as many queries as keys
        ((torch.zeros_like(Q), K, V, torch.ones_like(square)), {}),  # for those who need a mask
        (_inputs((3,), 5, 5, 7, 4, 10), {}),  # for those who need three dimensions
        (_inputs((2, 3), 4, 6, 7, 5, 1), {}),  # no mask
        ((*_inputs((3,), 4, 6, 7, 5, 3), bands), {}),
        ((*_inputs((2, 3), 5, 5, 6, 4, 4), empty), {}),  # a query without keys
        ((*_inputs((2, 3), 4, 6, 7, 5, 5), padding), {}),
        ((*_inputs((), 5, 5, 5, 5, 6), square), {}),  # two dimensions, all sizes equal
        ((*_inputs((2, 3), 5, 5, 16, 4, 7, torch.float32), square.bool()), {}),
        ((torch.zeros_like(cube[0]), *cube[1:]), {}),  # all sizes equal, for those whose shapes fit nowhere else
        (cube, {}),
        ((*_inputs((3, 3), 3, 3, 3, 3, 12), square[:3, :3]), {}),
    )


LOW = (-1e9, -1e4, -1e10, -1e20, -9e15, -1e8, -1e6, -1e5, -1e12, -1e30, -3.4028234663852886e38)

BANK = Bank(
    arguments=("Q", "K", "V", "mask"),
    returns=("output", "weights"),
    implementation=STEPS,
    misconceptions=(*SCORES, *SCALE, *MASK, *SOFTMAX, *MIX, *DEVICES),
    # A row without any key is NaN in the plain formula; with a finite fill, or set to 0, it is right as well.
    styles=(
        {"empty": "zero"},
        *({"low": low} for low in LOW),
        *({"low": low, "low_added": True} for low in LOW[:4]),
    ),
    probes=probes,
)
