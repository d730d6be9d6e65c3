"""One check as pytest collected it: what it is worth, what it takes, and how a run of it ended."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from grader.assignment import Settings
from grader.call import Call
from grader.errors import AssignmentError
from grader.expect import CheckFailure
from grader.results import CheckResult, Status, Visibility
from grader.sandbox.interface import Session
from grader.student import Adapter, Student

CPU, GPU = "cpu", "gpu"
OURS = ("student", "reference", "device")
"""The fixtures that we provide."""
_HEEDED = ("skip", "skipif", "xfail")
"""Marks by which pytest decides whether a check runs, and how it ends."""
_HOMES = ("grader.collect", "_pytest.python")
"""Where our fixtures are defined, and those by which pytest gives a function its parameters."""


@dataclass(frozen=True)
class Check:
    """One collected pytest item and its place in the denominator."""

    item: pytest.Item
    id: str
    title: str
    worth: float
    device: str
    visibility: Visibility
    hint: str
    watched: bool = False
    plain: bool = False
    """Whether it takes our fixtures only, and has no mark that pytest would have to heed: a call is all it needs."""

    def student(
        self, session: Session, settings: Settings, calls: list[Call], adapter: Adapter | None = None
    ) -> Student:
        """The handle for one run of this check; its calls are appended to `calls`."""
        return Student(
            session,
            settings.entry,
            device=self.device,
            check=self.id,
            calls=calls,
            adapter=adapter,
            forbidden=settings.from_scratch,
            watched=self.watched,
        )

    def result(self, status: Status, **details: Any) -> CheckResult:
        """This check's result: a pass is worth everything, anything else nothing."""
        return CheckResult(
            id=self.id,
            title=self.title,
            status=status,
            score=self.worth if status == "passed" else 0.0,
            max_score=self.worth,
            visibility=self.visibility,
            device=self.device,
            **details,
        )


@dataclass(frozen=True)
class Ending:
    """How one run of a check ended; `failure` is set when it failed on the student's answer."""

    status: Status
    failure: CheckFailure | None = None
    detail: str = ""
    error: BaseException | None = None


@functools.cache
def taken(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what pytest gives a function: its parameters without those that have a default."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    return tuple(one.name for one in parameters if one.kind in named and one.default is one.empty)


def _plain(item: pytest.Item) -> bool:
    """See `Check.plain`. What a fixture of ours or pytest's itself takes (`request`) is among `fixturenames` too.

    Under one of our names, or under a parameter's, there can be a fixture of the author's. Only a private attribute of
    pytest's tells; pytest is pinned, and `test_foresight` tries each kind of check.
    """
    if not isinstance(item, pytest.Function) or any(mark.name in _HEEDED for mark in item.iter_markers()):
        return False
    ours = {*OURS, *parameters(item)}
    definitions = [one for several in item._fixtureinfo.name2fixturedefs.values() for one in several]
    return (
        ours >= set(taken(item.function))
        and {*ours, "request"} >= set(item.fixturenames)
        and all(one.func.__module__ in _HOMES for one in definitions)
    )


def collected(item: pytest.Item) -> Check:
    """The check that an item is. Raises AssignmentError for one without points."""
    mark = item.get_closest_marker("points")
    if mark is None or not mark.args:
        raise AssignmentError(f"{item.nodeid} has no points. Write @points(3) above it (0 for a check worth nothing).")
    given = parameters(item)
    device = given.pop("device", CPU)
    name = getattr(item, "originalname", item.name).removeprefix("test_")
    labels = [str(value) for value in given.values()] + ([GPU] if device == GPU else [])
    function = getattr(item, "function", None)
    title = (inspect.getdoc(function) or name.replace("_", " ")).split("\n\n")[0].replace("\n", " ").rstrip(".")
    return Check(
        item=item,
        id=name + (f"[{'-'.join(labels)}]" if labels else ""),
        title=title,
        worth=mark.kwargs["gpu"] if device == GPU else mark.args[0],
        device=device,
        visibility=mark.kwargs["visibility"],
        hint=mark.kwargs["hint"],
        watched=mark.kwargs["watched"],
        plain=_plain(item),
    )


def parameters(item: pytest.Item) -> dict[str, Any]:
    """What `pytest.mark.parametrize` gives this item."""
    callspec = getattr(item, "callspec", None)
    return dict(callspec.params) if callspec else {}
