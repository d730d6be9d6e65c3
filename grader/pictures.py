"""Small tables of numbers around the worst element, for the report to draw."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.results import Cell, Picture

SIDE = 12
Axes = tuple[str, str]


def around(
    worst: tuple[int, ...],
    got: Tensor,
    want: Tensor,
    wrong: Tensor,
    *,
    title: str,
    axes: Axes,
    masked: Tensor | None,
    compare: bool = True,
) -> tuple[Picture, ...]:
    """The last two dimensions at the worst element, at most SIDE x SIDE. Nothing for a number.

    Args: all tensors have the shape of `got` (`masked` broadcasts to it); `compare` adds expected and difference.
    """
    if got.dim() == 0:
        return ()
    if got.dim() == 1:
        return around(
            (0, *worst),
            got[None],
            want[None],
            wrong[None],
            title=title,
            axes=axes,
            masked=None,
            compare=compare,
        )
    lead = worst[:-2]
    top, left = (_start(at, size) for at, size in zip(worst[-2:], got.shape[-2:], strict=True))
    window: tuple[int | slice, ...] = (*lead, slice(top, top + SIDE), slice(left, left + SIDE))
    yours, expected = got[window], want[window]
    where = f" [{', '.join(map(str, lead))}]" if lead else ""
    picture = Picture(
        title=f"{title}{where}",
        rows=axes[0],
        columns=axes[1],
        top=top,
        left=left,
        yours=_cells(yours),
        expected=_cells(expected) if compare else [],
        difference=_cells(yours - expected) if compare else [],
        marked=_places(wrong[window], (worst[-2] - top, worst[-1] - left)),
        masked=[] if masked is None else _places(masked.expand(got.shape)[window]),
    )
    return (picture,)


def _start(at: int, size: int) -> int:
    return max(0, min(at - SIDE // 2, size - SIDE))


def _cells(table: Tensor) -> list[list[Cell]]:
    return [[_cell(number) for number in row] for row in table.tolist()]


def _cell(number: float) -> Cell:
    return float(f"{number:.4g}") if math.isfinite(number) else str(number)


def _places(table: Tensor, first: tuple[int, int] | None = None) -> list[list[int]]:
    places: list[list[int]] = torch.nonzero(table).tolist()
    return sorted(places, key=lambda place: tuple(place) != first) if first else places
