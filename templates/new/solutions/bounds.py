"""How far off a right answer may be."""

from __future__ import annotations

from torch import Tensor

from grader.tolerance import SAFETY, gamma, unit_roundoff


def bounds(x: Tensor) -> tuple[Tensor]:
    """Absolute error of y, (..., N, D) float64, for any order in which D numbers are summed.

    D - 1 additions and a division make the mean, whose error is relative to the mean of the magnitudes; then one
    subtraction is rounded.
    """
    u, sizes = unit_roundoff(x.dtype), x.double().abs()
    typical = sizes.mean(-1, keepdim=True)  # (..., N, 1)
    return (SAFETY * (gamma(x.size(-1) + 1, u) * typical + 2 * u * (sizes + typical)),)
