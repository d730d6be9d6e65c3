"""The staff half of an assignment, loaded. Only a marker (or the audit) does this, never a zygote."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from grader import agreement
from grader.assignment import Assignment
from grader.authoring.master import load_reference
from grader.diagnosis.whatif import Bounds
from grader.errors import AssignmentError, UsageError
from grader.kept import kept
from grader.misconception import Bank, Convention, doubled
from grader.unimportable import why


@dataclass(frozen=True)
class Staff:
    """What the staff half provides beside its checks; only the reference must be there."""

    reference: Callable[..., Any]
    """The entry function of the master."""
    bank: Bank | None
    bounds: Bounds | None
    """Inputs -> for each returned value the absolute error that any correct order of operations stays under."""
    conventions: tuple[Convention, ...]

    @functools.cached_property
    def in_double(self) -> Callable[..., Any]:
        """The reference on float64 copies of the floating tensors: the expected values of a check."""

        def expected(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = doubled((args, kwargs))  # which keeps the graph: a check may ask for the expected gradient
            return self.reference(*args, **kwargs)

        return kept(expected)


def no_reference(*args: object, **kwargs: object) -> None:
    """Stands for the reference where there is no staff half. Raises UsageError."""
    raise UsageError("Public checks can't use the fixture `reference`: students do not have it.")


def none() -> Staff:
    """What there is without a staff half: enough for public checks."""
    return Staff(reference=no_reference, bank=None, bounds=None, conventions=())


def load(assignment: Assignment) -> Staff:
    """Load `solutions/<name>/`. Raises AssignmentError naming the file that can't be used and why, or a
    setting that names what is not there."""
    _make_importable(assignment)
    misconceptions = _module(assignment, "misconceptions")
    conventions = _module(assignment, "conventions")
    bounds = _module(assignment, "bounds")
    loaded = Staff(
        reference=load_reference(assignment),
        bank=_attribute(misconceptions, "BANK", lambda value: isinstance(value, Bank), "a Bank"),
        bounds=_attribute(bounds, "bounds", callable, "a function"),
        conventions=tuple(_attribute(conventions, "CONVENTIONS", _are_conventions, "a list of Conventions") or ()),
    )
    agreement.require_staff(assignment, loaded.bank, loaded.conventions)
    return loaded


def _make_importable(assignment: Assignment) -> None:
    """Let the staff modules import each other by plain name; forget another assignment's of the same names."""
    folder = str(assignment.staff)
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)  # first, so that another assignment's module of the same name can't stand before it
    for name in {file.stem for file in assignment.staff.glob("*.py")}:
        loaded = sys.modules.get(name)
        if loaded is not None and not str(getattr(loaded, "__file__", "")).startswith(folder + "/"):
            del sys.modules[name]


def _module(assignment: Assignment, name: str) -> ModuleType | None:
    path = assignment.staff / f"{name}.py"
    if not path.is_file():
        return None
    try:
        return importlib.import_module(name)
    except AssignmentError as error:
        raise AssignmentError(f"{path}: {error}") from error
    except (Exception, SystemExit) as error:
        raise AssignmentError(f"{path} can't be imported. {why(error, path)}") from error


def _attribute(module: ModuleType | None, name: str, fits: Callable[[Any], bool], what: str) -> Any:
    if module is None:
        return None
    if not hasattr(module, name):
        raise AssignmentError(f"{module.__file__} should define {name}; see docs/adding-an-assignment.md.")
    value = getattr(module, name)
    if not fits(value):
        raise AssignmentError(
            f"{module.__file__}: {name} should be {what}, and is {str(value)[:80]!r}; see docs/adding-an-assignment.md."
        )
    return value


def _are_conventions(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(one, Convention) for one in value)
