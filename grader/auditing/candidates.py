"""What the audit marks: implementations whose right mark is known beforehand."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from torch.overrides import TorchFunctionMode

from grader.assignment import Assignment
from grader.auditing.cheats import cheats
from grader.auditing.mutants import mutants
from grader.authoring.master import master_path, reference_source
from grader.errors import AssignmentError
from grader.misconception import Bank
from grader.sandbox.ops import refuse
from grader.staff import Staff

Kind = Literal["right", "starter", "misconception", "pair", "cheat", "mutant"]
SECONDS = 1.0
"""A changed loop may never end: a call that takes longer counts as stopped, and so do all later ones."""


@dataclass(frozen=True)
class Candidate:
    """One implementation. "right" ones must get everything, "starter" nothing, all others less than everything."""

    name: str
    kind: Kind
    make: Callable[[], Callable[..., Any]]
    """Gives the function anew, as one that remembers things would be for each submission."""
    loses: tuple[str, ...] = ()
    """Ids of the checks that a right one fails by intention."""
    parts: tuple[str, ...] = ()
    """Of a pair: the names of the two."""
    idea: str = ""
    """Of a misconception in its main setting: its id."""


def singles(assignment: Assignment, staff: Staff) -> list[Candidate]:
    """All candidates but the pairs, in a fixed order. Raises AssignmentError when a staff module can't be used."""
    bank, entry = staff.bank, assignment.settings.entry.function
    found = [Candidate("the reference", "right", _same(staff.reference))]
    found.append(Candidate("the starter", "starter", _same(starter(assignment))))
    loses = _loses(assignment)
    for name, function in _functions(assignment, "alternatives"):
        found.append(Candidate(spoken(name), "right", _same(function), loses.get(name, ())))
    if bank is not None:
        found.append(Candidate("all knobs at their defaults", "right", _same(bank.variant())))
        for idea in bank.misconceptions:
            for number, knobs in enumerate((idea.knobs, *idea.also)):
                name = f"{idea.id} {number + 1}" if number else idea.id
                made, main = _same(bank.variant(knobs=knobs)), "" if number else idea.id
                found.append(Candidate(name, "misconception", made, idea=main))
    for name in cheats(staff.reference):
        found.append(Candidate(name, "cheat", functools.partial(_cheat, staff.reference, name)))
    for name, function in _functions(assignment, "cheats"):
        found.append(Candidate(spoken(name), "cheat", _same(function)))
    for mutant in mutants(reference_source(master_path(assignment))):
        found.append(Candidate(mutant.name, "mutant", functools.partial(_loaded, mutant.load, entry)))
    return found


def pairs(bank: Bank | None) -> Iterator[Candidate]:
    """Two wrong ideas at once, where they do not turn the same knob."""
    for one, other in itertools.combinations(bank.misconceptions if bank else (), 2):
        if not set(one.knobs) & set(other.knobs):
            assert bank is not None
            names = (one.id, other.id)
            yield Candidate(" + ".join(names), "pair", _same(bank.variant(*names)), parts=names)


def spoken(name: str) -> str:
    """A function's name as words."""
    return name.replace("_", " ").strip()


class Refusing(TorchFunctionMode):
    """Refuses the library's functions of these names, as the sandbox does, but only while it is entered."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.names = frozenset(names)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in self.names:
            refuse(func.__name__)
        return func(*args, **(kwargs or {}))


def refusing(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function, for which the named parts of the library are blocked."""

    @functools.wraps(function)
    def without(*args: Any, **kwargs: Any) -> Any:
        with Refusing(names):
            return function(*args, **kwargs)

    return without


def limited(function: Callable[..., Any], seconds: float = SECONDS) -> Callable[..., Any]:
    """The function, stopped with TimeoutError after `seconds` of this process's own time, so that a busy machine does
    not change a verdict. Where there are no such alarms, it is not stopped.
    """
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
        before = signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            return function(*args, **kwargs)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

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


def _same(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    return lambda: function


def _cheat(reference: Callable[..., Any], name: str) -> Callable[..., Any]:
    return cheats(reference)[name]


def _loses(assignment: Assignment) -> dict[str, tuple[str, ...]]:
    """LOSES of alternatives.py: the checks that some right answers fail by intention."""
    if not (assignment.staff / "alternatives.py").is_file():
        return {}
    loses: dict[str, tuple[str, ...]] = getattr(importlib.import_module("alternatives"), "LOSES", {})
    return loses


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
