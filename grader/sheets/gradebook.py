"""Whose row is whose, and which column is which, in a sheet downloaded from a learning system.

People are found by ids alone. Who fits no row, or more than one, is listed and left alone: a grade in a wrong row is
worse than one that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from grader.errors import UsageError
from grader.results import Person
from grader.sheets.sheet import Row, Sheet

Kind = Literal["canvas", "moodle", "csv"]
HEADINGS: dict[Kind, dict[str, tuple[str, ...]]] = {
    "canvas": {
        "lms_id": ("ID",),
        "id": ("SIS User ID", "SIS Login ID", "Integration ID"),
        "email": ("SIS Login ID", "Email"),
    },
    "moodle": {
        "lms_id": ("Identifier",),
        "id": ("ID number", "Username", "Student ID"),
        "email": ("Email address",),
        "grade": ("Grade",),
        "maximum": ("Maximum grade",),
        "feedback": ("Feedback comments",),
    },
    "csv": {
        "id": (
            *("id", "student id", "sid", "student number", "id number", "orgdefinedid", "username", "user name"),
            *("sis user id", "sis login id", "login", "roster_identifier", "github_username"),
        ),
        "email": ("email", "email address", "e-mail", "mail"),
    },
}
"""What each column is called where the learning system speaks English; compared without case and outer blanks."""
_POINTS_POSSIBLE = "points possible"
_TITLES = (
    re.compile(r"^(?P<title>.*\S)\s*\((?P<number>\d+)\)$"),  # Canvas
    re.compile(r"^(?P<title>.*\S)\s*\[Total Pts:.*\]\s*\|(?P<number>\d+)$", re.IGNORECASE),  # Blackboard
    re.compile(r"^(?P<title>.*\S) Points Grade\b.*?(?P<number>)$", re.IGNORECASE),  # Brightspace
)
_LAST_NUMBER = re.compile(r"(\d+)\s*$")
_POINTS_IN_HEADING = re.compile(r"(?:total pts:|maxpoints:)[^\d]*(\d+(?:[.,]\d+)?)", re.IGNORECASE)


@dataclass
class Columns:
    """Places of the columns; a person's key may stand in several."""

    grade: int
    keys: dict[str, list[int]]
    """ "lms_id", "id" and "email" -> columns."""
    feedback: int | None = None
    maximum: int | None = None


@dataclass
class Gradebook:
    """A sheet, understood."""

    kind: Kind
    sheet: Sheet
    header: Row
    columns: Columns
    rows: list[Row] = field(default_factory=list)
    """Those of people."""
    points_possible: Row | None = None
    """Canvas's row of maxima."""

    def find(self, person: Person) -> list[Row]:
        """The rows that any of the person's ids names: one when all is well."""
        found: dict[int, Row] = {}
        for key, wanted in self._wanted(person):
            for column in self.columns.keys.get(key, []):
                for row in self._index(key, column).get(wanted, []):
                    found[row.number] = row
        return list(found.values())

    def _wanted(self, person: Person) -> list[tuple[str, str]]:
        ids = [("email", person.email), ("lms_id", person.lms_id)]
        # A learning system's own number and a student number are never compared: they might be two people's.
        if person.id != person.lms_id:
            ids.append(("id", person.id))
        return [(key, value.strip().casefold()) for key, value in ids if value.strip()]

    def _index(self, key: str, column: int) -> Mapping[str, list[Row]]:
        name = f"{key}/{column}"
        if name not in self._indices:
            index: dict[str, list[Row]] = {}
            for row in self.rows:
                value = row.value(column).strip().lstrip("#").casefold()
                if self.kind == "moodle" and key == "lms_id":  # "Participant 4711", in any language
                    number = _LAST_NUMBER.search(value)
                    value = number[1] if number else ""
                if value:
                    index.setdefault(value, []).append(row)
            self._indices[name] = index
        return self._indices[name]

    _indices: dict[str, dict[str, list[Row]]] = field(default_factory=dict)

    def ids(self, row: Row) -> list[str]:
        """What the row says of who it is, in the columns that people are found by."""
        cells = [row.value(column).strip() for columns in self.columns.keys.values() for column in columns]
        return [cell for cell in cells if cell]

    def maximum(self, row: Row) -> float | None:
        """What the sheet says that the assignment is worth, where it does."""
        if self.points_possible is not None:
            return _number(self.points_possible.value(self.columns.grade))
        if self.columns.maximum is not None:
            return _number(row.value(self.columns.maximum))
        told = _POINTS_IN_HEADING.search(self.header.value(self.columns.grade))
        return _number(told[1]) if told else None

    @property
    def decimal(self) -> str:
        """The decimal sign that the sheet's own numbers have."""
        for row in [*([self.points_possible] if self.points_possible else []), *self.rows]:
            for column in (self.columns.maximum, self.columns.grade):
                if re.fullmatch(r"\d+,\d+", row.value(column).strip()):
                    return ","
        return "."


def understand(
    sheet: Sheet, kind: Kind, *, title: str, column: str = "", headings: Mapping[str, str] | None = None
) -> Gradebook:
    """Find the columns. `title`: the assignment's; `column`: the grade column's heading, when that is another one;
    `headings`: what a column is called here, by its key in HEADINGS.

    Raises UsageError: not a sheet of this kind, a column that is missing or could be several; it lists those there are.
    """
    headings = dict(headings or {})
    known = {"grade", *HEADINGS[kind]}
    if unknown := sorted(headings.keys() - known):
        raise UsageError(f"There is no heading {unknown[0]!r} to name. There are: {', '.join(sorted(known))}.")
    filled = [row for row in sheet.rows if any(value.strip() for value in row.values)]
    if not filled:
        raise UsageError(f"{sheet.name} is empty. Download it again.")
    header, rest = filled[0], filled[1:]
    names = [value.strip() for value in header.values]
    keys = {key: _places(names, key, kind, headings) for key in ("lms_id", "id", "email")}
    if not any(keys.values()):
        wanted = ", ".join(name for key in ("lms_id", "id", "email") for name in HEADINGS[kind].get(key, ()))
        raise UsageError(
            f"{sheet.name} has no column with ids. In a {kind} sheet that is one of: {wanted}. There is: "
            f"{_listed(names)}. Say which it is with --heading id=NAME."
        )
    grade = _grade_column(sheet.name, names, kind, title, column or headings.get("grade", ""))
    book = Gradebook(kind, sheet, header, Columns(grade, {key: places for key, places in keys.items() if places}))
    for key in ("feedback", "maximum"):
        places = _places(names, key, kind, headings)
        setattr(book.columns, key, places[0] if places else None)
    for row in rest:
        if kind == "canvas" and row.value(0).strip().casefold() == _POINTS_POSSIBLE:
            book.points_possible = row
        else:
            book.rows.append(row)
    return book


def _places(names: Sequence[str], key: str, kind: Kind, headings: Mapping[str, str]) -> list[int]:
    wanted = [headings[key]] if key in headings else list(HEADINGS[kind].get(key, ()))
    folded = [name.casefold() for name in names]
    if key in headings and wanted[0].casefold() not in folded:
        raise UsageError(f"No column is called {wanted[0]!r}. There is: {_listed(names)}.")
    return [place for name in wanted for place, there in enumerate(folded) if there == name.casefold()]


def _grade_column(file: str, names: Sequence[str], kind: Kind, title: str, asked: str) -> int:
    """The one column that is meant: called so exactly, or so without what the learning system adds to the title."""
    wanted = asked or (HEADINGS["moodle"]["grade"][0] if kind == "moodle" else title)
    exact = [place for place, name in enumerate(names) if name.casefold() == wanted.strip().casefold()]
    if not exact:
        for place, name in enumerate(names):
            parts = next((found for pattern in _TITLES if (found := pattern.match(name))), None)
            if parts and wanted.strip().casefold() in (parts["title"].casefold(), parts["number"]):
                exact.append(place)
    if len(exact) == 1:
        return exact[0]
    problem = "Several columns are" if exact else "No column is"
    raise UsageError(f"{file}: {problem} called {wanted!r}. There is: {_listed(names)}. Say which with --column NAME.")


def _listed(names: Sequence[str]) -> str:
    shown = [name for name in names if name]
    return ", ".join(shown[:40]) + (", ..." if len(shown) > 40 else "")


def _number(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None
