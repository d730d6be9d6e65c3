"""The only code that ever meets student code.

`Sandbox` and `Session` are the door: the confined one (`confined.py`) and the in-process fake (`fake.py`) stand
behind the same interface. What comes back is data: a `Call`, never an object of the student's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from torch import Tensor

from grader.results import Place, Struct
from grader.submission import Submission


class Unit(Struct):
    """A piece of source that is compiled by itself: a whole .py file or one code cell of a notebook."""

    file: str
    cell: int | None
    """1-based position among all cells of the notebook, None for a .py file."""
    source: str


class Entry(Struct, kw_only=True):
    """What is called: the function's name and how it is called and answers (from `assignment.toml`)."""

    function: str
    arguments: list[str]
    """Parameters as written in a signature: ["Q", "K", "V", "mask=None"]."""
    returns: list[str]
    """Names of the returned values in order: ["output", "weights"]; one name means a lone value."""
    aliases: list[str] = []
    """Other names under which it is searched for, to explain rather than to accept."""


class Problem(Struct, kw_only=True):
    """Something in the student's work that kept (part of) it from loading. Data, not an exception."""

    kind: str
    """"syntax", "tabs", "missing_package", "exception", "timeout", "memory", "output", "crash", "no_code",
    "no_function", "unreadable", "stub"."""
    message: str
    """Authored words: what, where, how to mend it."""
    place: Place | None = None
    detail: str = ""
    """The student's exception text; for staff."""


class Found(Struct, kw_only=True):
    """A callable that the loader found in the student's work."""

    name: str
    kind: Literal["function", "class", "instance"]
    parameters: list[str]
    """As written: "Q", "mask=None", "*rest", "**options", "/", "*". Unknown: ["?"]."""
    stub: bool
    """True when its body is only a docstring, pass, ..., or raise NotImplementedError."""
    place: Place | None = None


class Loaded(Struct, kw_only=True):
    """What loading a submission gave."""

    entry: Found | None
    """The function that will be called; None when there is none under the right name."""
    others: list[Found] = []
    """Other candidates, likeliest first: for explaining "you named it ..."."""
    problems: list[Problem] = []
    """What failed on the way; the entry may be there all the same (one bad cell does not lose the rest)."""
    notes: list[str] = []
    """What was left out, in words: magics, shell lines, a training loop that was not needed."""
    banned: list[Place] = []
    """Lines that name something which the assignment forbids (the library's own attention)."""
    seconds: float = 0.0


@dataclass(frozen=True)
class Foreign:
    """Stands in the answer for a value that is not a tensor, a number, a string, None or a nesting of these."""

    type: str
    tensor: Tensor | None = None
    """The numbers of a numpy array."""


@dataclass(frozen=True)
class Failure:
    """How a call ended without an answer."""

    kind: Literal["exception", "timeout", "memory", "output", "crash", "closed", "malformed"]
    type: str
    """Class name of the exception, or the signal's name."""
    message: str
    """The student's text: for staff and for explaining by kind, never shown from a hidden check."""
    place: Place | None = None
    """The innermost line of the student's own code."""
    trace: str = ""


@dataclass(frozen=True)
class Layout:
    """How a tensor is laid out, beside its bytes."""

    device: str
    strides: tuple[int, ...]
    requires_grad: bool


@dataclass(frozen=True)
class Call:
    """One recorded invocation of the student's function. All tensors are plain CPU tensors of ours."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    device: str
    """"cpu" or "gpu"."""
    output: Any = None
    """Tree of tensors, numbers, strings, None, lists, tuples, dicts and Foreign; None when it failed."""
    failure: Failure | None = None
    after: tuple[Tensor, ...] = ()
    """The tensors among args and kwargs as the call left them, in the order they were sent."""
    gradients: tuple[Tensor | None, ...] | None = None
    """For a vjp: the gradient of each floating tensor that was sent, in order."""
    layouts: tuple[Layout, ...] = ()
    """Of the output's tensors, in order."""
    ops: dict[str, int] = field(default_factory=dict)
    """How often each operator ran, as the child reports it: advisory."""
    largest: int = 0
    """Elements of the largest tensor that an operator made, as the child reports it: advisory."""
    check: str = ""
    case: str = ""
    cotangents: tuple[Tensor, ...] | None = None
    seconds: float = 0.0


class Session(Protocol):
    """One submission's code, loaded. Restarts by itself after a death, so one bad call costs one check."""

    @property
    def loaded(self) -> Loaded: ...

    @property
    def output(self) -> str:
        """The first of what the student's code printed, capped and cleaned."""

    @property
    def layers(self) -> tuple[str, ...]: ...

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

    def open(self, submission: Submission) -> Session: ...
