"""Known wrong ideas: each is one knob of the implementation below, whose defaults are right."""

from __future__ import annotations

from torch import Tensor

from grader.misconception import Bank, Misconception

DIMENSIONS = {"row": -1, "column": -2}


def mean(x: Tensor, *, of: str = "row") -> Tensor:
    return x.mean(DIMENSIONS[of], keepdim=True)


def y(x: Tensor, mean: Tensor, *, sign: int = -1) -> Tensor:
    return x + sign * mean


BANK = Bank(
    arguments=("x",),
    returns=("y",),
    implementation=(mean, y),
    misconceptions=(
        Misconception(
            id="mean_of_columns",
            title="the mean is taken over the rows, so that each column is centred",
            explanation="Each number loses the mean of its column instead of that of its row. The last dimension runs "
            "along a row, so that is the one to take the mean over.",
            hint="Look at the dimension that the mean runs over.",
            section="1. Mean",
            knobs={"of": "column"},
            seen="common",
        ),
        Misconception(
            id="mean_added",
            title="the mean is added instead of subtracted",
            explanation="Adding the mean moves each row away from 0: its mean doubles.",
            hint="What has to happen to a row of mean 3 for its mean to become 0?",
            section="2. Subtract",
            knobs={"sign": 1},
        ),
    ),
)
