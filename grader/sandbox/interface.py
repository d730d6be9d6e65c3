"""The door to student code, the same for the confined sandbox (`confined.py`) and the in-process fake (`fake.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from grader.call import Call, Invocation
from grader.entry import Loaded
from grader.reading.source import Sources


class Session(ABC):
    """One submission's code, loaded. Restarts by itself after a death, so one bad call costs one check."""

    loaded: Loaded
    """What loading the submission gave."""
    layers: tuple[str, ...]
    """The confinement that was really applied."""
    together: bool
    """Whether to ask for several calls at once, because that costs less than one by one."""

    @property
    @abstractmethod
    def output(self) -> str:
        """The first of what the student's code printed, capped and cleaned."""

    @abstractmethod
    def calls(self, asked: Sequence[Invocation]) -> list[Call]:
        """Make these calls, in order. Each ends as it would have ended alone.

        Raises Malformed when the arguments of one can't be sent (see `wire`): sparse, say, or far too large.
        """

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **options: Any) -> Call:
        """A single call; `options` are the other fields of an `Invocation`."""
        return self.calls([Invocation(args, kwargs or {}, **options)])[0]

    @abstractmethod
    def close(self) -> None:
        """End the student's processes and sweep what they left."""


class Sandbox(Protocol):
    """Opens submissions. One marker owns one sandbox."""

    def open(self, sources: Sources, *, whole: bool = False) -> Session:
        """`whole`: run all that importing the files would run, not only what the function seems to need."""
