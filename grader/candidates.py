"""What the audit marks: implementations whose right mark is known beforehand."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grader.assignment import Assignment
from grader.cheats import cheats
from grader.errors import AssignmentError
from grader.master import master_path, reference_source
from grader.misconception import Bank
from grader.mutants import mutants
from grader.staff import Staff

Kind = Literal["right", "starter", "misconception", "pair", "cheat", "mutant"]
SECONDS = 2.0
"""A changed loop may never end: a call that takes longer counts as stopped, and so do all later ones."""


@dataclass(frozen=True)
class Candidate:
    """One implementation. "right" ones must get everything, "starter" nothing, all others less than everything."""

    name: str
    kind: Kind
    function: Callable[..., Any]
    loses: tuple[str, ...] = ()
    """Ids of the checks that a right one fails by intention."""


def singles(assignment: Assignment, staff: Staff) -> list[Candidate]:
    """All candidates but the pairs, in a fixed order. Raises AssignmentError when a staff module can't be used."""
    reference = staff.reference
    found = [Candidate("the reference", "right", reference), Candidate("the starter", "starter", starter(assignment))]
    found += [Candidate(spoken(name), "right", function, loses) for name, function, loses in _alternatives(assignment)]
    if staff.bank is not None:
        found.append(Candidate("all knobs at their defaults", "right", staff.bank.variant()))
        found += [
            Candidate(f"{idea.id} {number}" if number else idea.id, "misconception", staff.bank.variant(knobs=knobs))
            for idea in staff.bank.misconceptions
            for number, knobs in enumerate((idea.knobs, *idea.also))
        ]
    found += [Candidate(name, "cheat", function) for name, function in cheats(reference).items()]
    found += [Candidate(spoken(name), "cheat", function) for name, function in _functions(assignment, "cheats")]
    for mutant in mutants(reference_source(master_path(assignment))):
        found.append(Candidate(mutant.name, "mutant", _loaded(mutant.load, assignment.settings.entry.function)))
    return found


def pairs(bank: Bank | None) -> Iterator[Candidate]:
    """Two wrong ideas at once, where they do not turn the same knob."""
    for one, other in itertools.combinations(bank.misconceptions if bank else (), 2):
        if not set(one.knobs) & set(other.knobs):
            assert bank is not None
            yield Candidate(f"{one.id} + {other.id}", "pair", bank.variant(one.id, other.id))


def spoken(name: str) -> str:
    """A function's name as words."""
    return name.replace("_", " ").strip()


def limited(function: Callable[..., Any], seconds: float = SECONDS) -> Callable[..., Any]:
    """The function, stopped with TimeoutError after `seconds`. Where there are no alarms, it is not stopped."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return function
    stopped = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        stopped = True
        raise TimeoutError(f"took longer than {seconds:g} s")

    @functools.wraps(function)
    def within(*args: Any, **kwargs: Any) -> Any:
        if stopped:
            raise TimeoutError("took too long before")
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return function(*args, **kwargs)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    return within


def starter(assignment: Assignment) -> Callable[..., Any]:
    """The entry function as students receive it. Raises AssignmentError when there is none."""
    path = assignment.public / f"{assignment.name}.py"
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise AssignmentError(f"{path} can't be read: {error.strerror}. `grader release` makes it.") from None
    return _loaded(functools.partial(_run, source, path), assignment.settings.entry.function)


def _run(source: str, path: Path, function: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"__name__": "starter", "__file__": str(path)}
    exec(compile(source, str(path), "exec"), namespace)
    made: Callable[..., Any] = namespace[function]
    return made


def _loaded(load: Callable[[str], Callable[..., Any]], name: str) -> Callable[..., Any]:
    """What `load` gives; if it fails, a function that fails in the same way, as a submission would."""
    try:
        return load(name)
    except Exception as error:
        reason = error

    def failing(*args: Any, **kwargs: Any) -> Any:
        raise reason

    return failing


def _alternatives(assignment: Assignment) -> Iterator[tuple[str, Callable[..., Any], tuple[str, ...]]]:
    """Right answers by other routes. LOSES in their module names the checks that some fail by intention."""
    path = assignment.staff / "alternatives.py"
    loses = getattr(importlib.import_module("alternatives"), "LOSES", {}) if path.is_file() else {}
    for name, function in _functions(assignment, "alternatives"):
        yield name, function, tuple(loses.get(name, ()))


def _functions(assignment: Assignment, module: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of a module in the staff half, as written there; none when there is no such module."""
    path = assignment.staff / f"{module}.py"
    if not path.is_file():
        return
    try:
        loaded = importlib.import_module(module)
    except Exception as error:
        raise AssignmentError(f"{path} can't be imported: {type(error).__name__}: {error}.") from error
    for name, function in vars(loaded).items():
        if inspect.isfunction(function) and function.__module__ == module and not name.startswith("_"):
            yield name, function
