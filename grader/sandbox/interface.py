"""The door to student code, the same for the confined sandbox (`confined.py`) and the in-process fake (`fake.py`)."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from grader.call import Call
from grader.entry import Loaded
from grader.reading.source import Sources


class Session(Protocol):
    """One submission's code, loaded. Restarts by itself after a death, so one bad call costs one check."""

    @property
    def loaded(self) -> Loaded:
        """What loading the submission gave."""

    @property
    def output(self) -> str:
        """The first of what the student's code printed, capped and cleaned."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The confinement that was really applied."""

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        device: str = "cpu",
        cotangents: tuple[Tensor, ...] | None = None,
        function: str = "",
    ) -> Call:
        """Call the entry function (or `function`). With cotangents: forward, backward, and the gradients."""

    def close(self) -> None:
        """End the student's processes and sweep what they left."""


class Sandbox(Protocol):
    """Opens submissions. One marker owns one sandbox."""

    def open(self, sources: Sources, *, whole: bool = False) -> Session:
        """`whole`: run all that importing the files would run, not only what the function seems to need."""
