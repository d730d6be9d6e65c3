"""One thing that a recorded call shows, and how a set of wrong ideas may fit it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from grader.diagnosis.whatif import WhatIf

NO, ODD, YES = 0, 1, 2
"""How a set fits: not at all; except where the set gives numbers that are not finite or huge, which a style may
change; in all numbers."""


class Part(ABC):
    """One thing that a call shows, compared with what the bank computes under a set."""

    dear = False
    """Whether a comparison costs many times what that of a returned value does."""

    tabled = False
    """Whether it is a question's, so that what many sets answer can be kept."""
    blurred = False
    """Whether a set fitted but for roundings to float32."""
    upstream = -1
    """The items that can reach it."""

    def __init__(self, whatif: WhatIf) -> None:
        self.whatif = whatif

    @abstractmethod
    def fits(self, chosen: int) -> int:
        """NO, ODD or YES."""

    def touched(self, chosen: int, more: int) -> bool:
        """Whether the items `more` make a difference here, on top of `chosen`, without stopping the call."""
        return self.fits(chosen | more) != self.fits(chosen)

    def looked_up(self, key: tuple[int, ...], sets: Iterable[int]) -> Iterable[int]:
        """Those of the sets that may fit, where that is known at once for all of them. Only where `tabled`."""
        raise NotImplementedError

    def telling(self, chosen: int, single: bool) -> bool:
        """Whether a fit says something about the set, one of a single idea or not, and not just that much is wrong."""
        return True

    @property
    def kind(self) -> tuple[Any, ...]:
        """What parts share in which the same ideas show: this sort of part, of calls with the same sorts of inputs."""
        inputs = [(tensor.dtype.is_floating_point, tensor.dim()) for tensor in self.whatif.call.inputs]
        return type(self), self.whatif.call.device, *inputs
