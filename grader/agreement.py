"""Whether an assignment's settings and its staff half speak of the same things: names that nothing has are no slip.

A price for a misconception that is misspelled would never be paid, without a word. So whatever `assignment.toml`
names must be there, and the bank must know the arguments and returned values by the names in `[entry]`.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from grader.assignment import SETTINGS, Assignment
from grader.diagnosis import forms
from grader.errors import AssignmentError
from grader.misconception import Bank, Convention


def require_staff(assignment: Assignment, bank: Bank | None, conventions: Sequence[Convention]) -> None:
    """Raises AssignmentError naming the file, the key and what was expected."""
    settings = assignment.settings
    names = {one.id for one in conventions} | forms.IDS
    for name in settings.conventions:
        _require(assignment, f"conventions.{name}", name, names, "convention")
    ideas = {idea.id for idea in bank.misconceptions} if bank else set()
    for name in settings.partial_credit:
        _require(assignment, f"partial_credit.{name}", name, ideas, "misconception in misconceptions.py")
    if bank is None:
        return
    arguments = [text.partition("=")[0].strip() for text in settings.entry.arguments]
    named = {"arguments": (arguments, bank.arguments), "returns": (settings.entry.returns, bank.returns)}
    for key, (ours, theirs) in named.items():
        if tuple(ours) != tuple(theirs):
            raise AssignmentError(
                f"{assignment.public / SETTINGS}: entry.{key}: expected the names that BANK in misconceptions.py has, "
                f"{', '.join(theirs)}; got {', '.join(ours)}. Change one of them."
            )


def require_checks(assignment: Assignment, checks: Collection[str]) -> None:
    """The same for what the settings say about `checks`, the ids of the hidden ones. Raises AssignmentError."""
    for name, shares in assignment.settings.partial_credit.items():
        for check in shares:
            _require(assignment, f"partial_credit.{name}.{check}", check, checks, "hidden check")


def _require(assignment: Assignment, key: str, name: str, names: Collection[str], what: str) -> None:
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There is: {', '.join(sorted(names)) or 'none'}."
    raise AssignmentError(f"{assignment.public / SETTINGS}: {key}: there is no {what} called {name!r}. {hint}")
