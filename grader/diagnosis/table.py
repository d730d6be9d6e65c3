"""The answers of many sets of ideas to one question, side by side: which of them may be the student's is one look.

Questions are the same for every student, so what the sets answer is worked out once and looked up from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from grader.diagnosis.catalogue import Catalogue
from grader.diagnosis.node import Node

ROOM = 1e-5
"""Relative and absolute: the table keeps float32, and the sets that it lets through are compared exactly."""


class Table:
    """The value of one step under each of the sets."""

    def __init__(self, catalogue: Catalogue, node: Callable[[int], Node], sets: Iterable[int]) -> None:
        self._drawn: list[int] = []
        """Sets that look at the student's answer: there is no telling beforehand."""
        found: dict[tuple[int, ...], tuple[list[int], list[Any]]] = {}
        for chosen in sets:
            if chosen & catalogue.drawn:
                self._drawn.append(chosen)
                continue
            value = node(chosen)
            if value.error is None:
                array = value.value.detach().float().numpy()
                names, arrays = found.setdefault(array.shape, ([], []))
                names.append(chosen)
                arrays.append(array.reshape(-1))
        self._answers = {shape: (names, np.stack(arrays)) for shape, (names, arrays) in found.items()}

    def near(self, seen: np.ndarray[Any, Any], room: float, huge: float) -> list[int]:
        """The sets whose answer is the student's wherever it is a number below `huge`, and those that may be."""
        if seen.shape not in self._answers:
            return self._drawn
        names, answers = self._answers[seen.shape]
        size, gap = np.abs(answers), np.abs(answers - seen.reshape(-1).astype(np.float32))
        off = ~(gap <= max(room, ROOM) * (size + 1.0)) & (size < huge)  # NaN is never below
        return [*(names[index] for index in np.flatnonzero(~off.any(axis=1))), *self._drawn]
