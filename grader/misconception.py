"""What an author writes about wrong ideas: one implementation with knobs, and a name for each wrong setting.

The implementation is a row of small functions, called steps. A step computes one value, which has the step's
name, from arguments of the entry function and from values of earlier steps: its positional parameters name
them. Its keyword-only parameters are knobs; their defaults are right, so that all defaults together are the
reference solution. A misconception sets one knob, rarely two.

    def scores(Q, K, *, product="QK"): ...
    def weights(scores, *, softmax="keys"): ...
    def output(weights, V): ...

Values with a meaning of their own, which a step may ask for or compute:
    device          asked for: "cpu" or "gpu", where the call runs
    seen            asked for: what the student's code returned, {name: tensor}, or {} when nothing is known. For
                    ideas that draw random numbers, which can only be recognised, not repeated
    <argument>_after   computed: the argument as the call leaves it, when an idea changes it in place
    answer_device   computed: "cpu" or "gpu", where the answer stands
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from grader.call import copied
from grader.errors import AssignmentError

Knobs = Mapping[str, Any]
Inputs = tuple[tuple[Any, ...], dict[str, Any]]
"""Arguments of a call by position and by name."""

ASKED = frozenset({"device", "seen"})
AFTER = "_after"
ANSWER_DEVICE = "answer_device"


def fresh(inputs: Inputs) -> Inputs:
    """The same arguments with tensors of their own, for whoever may write into them."""
    args, kwargs = copied(inputs)
    return args, kwargs


def doubled(inputs: Inputs) -> Inputs:
    """The same arguments with float64 copies of the floating tensors; a gradient still leads to those given."""
    args, kwargs = inputs
    return tuple(_double(item) for item in args), {key: _double(item) for key, item in kwargs.items()}


def _double(item: Any) -> Any:
    if isinstance(item, Tensor) and item.is_floating_point():
        return item.to(torch.float64, copy=True)
    return item


@dataclass(frozen=True, kw_only=True)
class Misconception:
    """One wrong idea."""

    id: str
    title: str
    """A clause that completes "Your result is exactly what one gets when ...", without a full stop."""
    explanation: str
    """What the idea does to the numbers, and why the right way is right."""
    hint: str
    """Where to look, without giving the line away."""
    section: str
    """The section of the handout to read again."""
    knobs: Knobs
    also: tuple[Knobs, ...] = ()
    """Other settings that come from the same idea, such as another constant."""
    seen: Literal["common", "occasional", "rare"] = "occasional"
    """How often students have it: decides which of several explanations that fit equally is named first."""


@dataclass(frozen=True, kw_only=True)
class Convention:
    """A way of calling that differs from the assignment's but shows no wrong idea.

    It is recognised when the plain calls do not all give the reference's answers and the translated ones all do.
    """

    id: str
    """The key under [conventions] in assignment.toml."""
    title: str
    """For staff and class pages."""
    words: str
    """What, where, how to mend it, for the student."""
    examples: Callable[[], Sequence[Inputs]]
    """Small inputs on which it is tried, the same for all conventions of an assignment. All sizes should differ."""
    arguments: Callable[[tuple[Any, ...], dict[str, Any]], Inputs | None]
    """The arguments as this convention wants them; None where they can't be translated."""
    smaller: bool = False
    """The translated call asks something else, such as for a part of the batch: the answer must be the reference's
    to the translated arguments. Such a convention can be recognised, but not graded through."""
    adaptable: bool = True
    """False when it can be recognised but not graded through for another reason."""
    misconceptions: tuple[str, ...] = ()
    """Ids in the bank that say the same: where the convention is recognised they need not be said as well."""


@dataclass(frozen=True)
class Step:
    """One function of the implementation."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    knobs: dict[str, Any]
    """Name -> right setting."""
    passes: str | None
    """See `passes`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Bank:
    """The implementation with knobs and the wrong ideas about one assignment.

    Raises AssignmentError when an idea sets a knob that no step has, or names do not fit together.
    """

    arguments: tuple[str, ...]
    """Of the entry function, in order. Arguments that a call leaves out are None."""
    returns: tuple[str, ...]
    """The steps whose values are returned, in order."""
    implementation: Sequence[Callable[..., Any]]
    misconceptions: Sequence[Misconception]
    styles: Sequence[Knobs] = ()
    """Settings that are right too but show in odd places, such as in a row without any key."""
    probes: Callable[[], Sequence[Inputs]] = lambda: ()
    """Small inputs that tell ideas apart, for asking the student's code once more. The first two are asked before the
    search: on the first as few ideas as possible should show, such as on all zeros; on the second as many as possible.
    Where most calls fail, those are asked instead in which ideas that explain this do not fail, such as inputs with
    all sizes equal."""

    def __post_init__(self) -> None:
        known = {*self.arguments, *ASKED}
        for step in self.steps:
            missing = [name for name in step.inputs if name not in known]
            if missing:
                raise AssignmentError(f"Step {step.name}() asks for {missing[0]!r}, which no earlier step computes.")
            known.add(step.name)
        ids = [idea.id for idea in self.misconceptions]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice:
            raise AssignmentError(f"There are two misconceptions called {twice!r}.")
        for owner, knobs in [
            *((idea.id, knobs) for idea in self.misconceptions for knobs in (idea.knobs, *idea.also)),
            *(("a style", knobs) for knobs in self.styles),
        ]:
            for knob in knobs:
                if knob not in self.defaults:
                    raise AssignmentError(f"{owner} sets {knob!r}, but no step has a knob of that name.")
        absent = [name for name in self.returns if name not in known]
        if absent:
            raise AssignmentError(f"{absent[0]!r} is returned, but no step computes it.")

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """The implementation, read from the signatures."""
        return tuple(_step(function) for function in self.implementation)

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """Each knob's right setting."""
        return {knob: value for step in self.steps for knob, value in step.knobs.items()}

    def __getitem__(self, name: str) -> Misconception:
        """The misconception called `name`. Raises KeyError."""
        return next((idea for idea in self.misconceptions if idea.id == name), None) or _missing(name)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Argument name -> value; what is left out is None. Raises TypeError for arguments that do not exist."""
        if len(args) > len(self.arguments) or not set(kwargs) <= set(self.arguments[len(args) :]):
            raise TypeError("not the arguments of the entry function")
        return {**dict.fromkeys(self.arguments), **dict(zip(self.arguments, args, strict=False)), **kwargs}

    def values(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        knobs: Knobs,
        *,
        device: str = "cpu",
        seen: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Any]:
        """All arguments and step values by name. Raises whatever the settings of the knobs make a step raise."""
        known = {**self.bind(args, kwargs), "device": device, "seen": {} if seen is None else seen}
        for step in self.steps:
            chosen = {knob: knobs[knob] for knob in step.knobs if knob in knobs}
            known[step.name] = step.function(*(known[name] for name in step.inputs), **chosen)
        return known

    def variant(self, *names: str, knobs: Knobs | None = None) -> Callable[..., Any]:
        """A function that holds the named misconceptions, called and answering like a student's.

        With no names it is the reference. `knobs` are further settings. Raises KeyError for an unknown name.
        """
        chosen = {key: value for name in names for key, value in self[name].knobs.items()} | dict(knobs or {})

        def function(*args: Any, **kwargs: Any) -> Any:
            devices = [item.device.type for item in (*args, *kwargs.values()) if isinstance(item, Tensor)]
            device = "cpu" if devices[:1] in ([], ["cpu"]) else "gpu"
            known = self.values(args, kwargs, chosen, device=device)
            for name in self.arguments:
                after = known.get(name + AFTER)
                if after is not None and after is not known[name]:
                    with torch.no_grad():
                        known[name].copy_(after)
            moved = known.get(ANSWER_DEVICE, device) != device
            answer = tuple(known[name].cpu() if moved else known[name] for name in self.returns)
            return answer if len(answer) > 1 else answer[0]

        function.__name__ = "_with_".join(["reference", *names])
        return function


def passes(source: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a step that, with all its knobs at their defaults, only passes the value called `source` on.

    Such a step need not run then, which makes the search for misconceptions several times faster.
    """

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        function.passes = source  # type: ignore[attr-defined]  # functions take attributes
        return function

    return mark


def _step(function: Callable[..., Any]) -> Step:
    parameters = inspect.signature(function).parameters.values()
    inputs = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
    knobs = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    without = [knob for knob, value in knobs.items() if value is inspect.Parameter.empty]
    if without:
        raise AssignmentError(f"Knob {without[0]!r} of step {function.__name__}() needs a default: the right setting.")
    passed = getattr(function, "passes", None)
    if passed is not None and passed not in inputs:
        raise AssignmentError(f"Step {function.__name__}() passes on {passed!r}, which is none of its parameters.")
    return Step(function.__name__, function, inputs, knobs, passed)


def _missing(name: str) -> Misconception:
    raise KeyError(f"no misconception called {name!r}")
