"""The class list: who is who, whatever a download calls them, and who handed nothing in."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from grader.errors import IntakeError
from grader.results import Person

_HEADERS = {
    "id": ("id", "student id", "sid", "student number", "id number", "sis user id", "sis id", "orgdefinedid",
           "username", "user name", "user", "roster identifier", "identifier", "matriculation number"),
    "name": ("name", "full name", "student", "student name", "display name"),
    "first": ("first name", "firstname", "given name", "first"),
    "last": ("last name", "lastname", "surname", "family name", "last"),
    "email": ("email", "e mail", "email address", "mail", "e mail address"),
    "section": ("section", "sections", "section name", "class", "group", "lab"),
}  # fmt: skip
_IDENTIFIES = re.compile(r"\b(id|sid|user|username|login|github|canvas|moodle|number)\b")
_STAFF = ("instructor", "ta", "teacher", "teaching assistant", "reader", "staff", "grader", "designer")
_NO_PEOPLE = ("points possible", "student, test", "test student")
"""Rows that Canvas's gradebook has among the people."""
_DIVIDERS = ",;\t"


class Roster:
    """People, findable by any id, email or spelling of the name that belongs to just one of them."""

    def __init__(self, people: list[Person], aliases: list[list[str]] | None = None) -> None:
        """`aliases`: further ids of each person, in the same order."""
        self.people = people
        self._wording = [frozenset(_words(person.name)) for person in people]
        self._ids = _Index()
        self._emails = _Index()
        self._names = _Index()
        self._squeezed = _Index()
        for place, person in enumerate(people):
            for known in [person.id, *(aliases[place] if aliases else [])]:
                self._ids.add(known.casefold(), place)
            if person.email:
                self._emails.add(person.email.casefold(), place)
                self._ids.add(person.email.casefold().partition("@")[0], place)
            words = _words(person.name)
            self._names.add(" ".join(sorted(words)), place)
            for turn in range(len(words)):
                self._squeezed.add("".join(words[turn:] + words[:turn]), place)

    def find(self, person: Person, *, foreign_id: bool = False) -> Person | None:
        """The person on the list whom these data mean; None when nobody or more than one fits.

        `foreign_id`: the id is a learning system's own number, which might be somebody else's student number.
        """
        ways = [
            (self._emails, person.email.casefold()),
            (self._names, " ".join(sorted(_words(person.name)))),
            (self._squeezed, "".join(_words(person.name))),
        ]
        if not foreign_id:
            ways.insert(1, (self._ids, person.id.casefold()))
        return self._first(ways)

    def find_label(self, label: str) -> Person | None:
        """The person whom a file or folder name means: by the whole of it, or by an id or a full name in it."""
        whole = self.find(Person(id=label, name=label, email=label))
        if whole is not None:
            return whole
        places = {self._ids.one(token.casefold()) for token in re.split(r"[_\-\s.()+]+", label)} - {None}
        if not places:
            words = set(_words(label))
            places = {place for place, name in enumerate(self._wording) if len(name) > 1 and name <= words}
        found = [place for place in places if place is not None]
        return self.people[found[0]] if len(found) == 1 else None

    def _first(self, ways: list[tuple[_Index, str]]) -> Person | None:
        for index, key in ways:
            place = index.one(key)
            if place is not None:
                return self.people[place]
        return None


class _Index:
    """Keys to places; a key that several claim leads nowhere."""

    def __init__(self) -> None:
        self._places: dict[str, set[int]] = {}

    def add(self, key: str, place: int) -> None:
        if key:
            self._places.setdefault(key, set()).add(place)

    def one(self, key: str) -> int | None:
        places = self._places.get(key, set())
        return next(iter(places)) if len(places) == 1 else None


def read_roster(path: Path) -> Roster:
    """The class list in a CSV file: columns id, name (or first name and last name), email, section, in any order.

    Commas, semicolons or tabs; UTF-8 with or without a byte order mark, UTF-16, or Windows-1252. Columns that name
    another id ("GitHub user", "Canvas id") are used to find people too. Raises IntakeError naming file and line.
    """
    text = _text(path)
    first = next((line for line in text.splitlines() if line.strip()), "")
    divider = max(_DIVIDERS, key=first.count)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=divider)
        rows = [row for row in lines if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise IntakeError(f"{path} is not a table in CSV: {error}. Save it as CSV again.") from None
    if not rows:
        raise IntakeError(f"{path} is empty. A roster needs a first line with the columns id, name, email, section.")
    headers = [re.sub(r"[\s_\-]+", " ", cell.strip().lower()) for cell in rows[0]]
    columns = {kind: _column(headers, names) for kind, names in _HEADERS.items()}
    if columns["id"] is None and columns["email"] is None:
        raise IntakeError(
            f"{path}: no column is called “id” or “email”; there is: {', '.join(rows[0])}. "
            "Name the column with the student ids “id” in the first line."
        )
    used = {place for place in columns.values() if place is not None}
    others = [place for place, head in enumerate(headers) if place not in used and _IDENTIFIES.search(head)]
    role = _column(headers, ("role",))
    people: list[Person] = []
    aliases: list[list[str]] = []
    seen: dict[str, tuple[int, Person]] = {}
    for number, row in enumerate(rows[1:], start=2):
        person = _person(row, columns)
        if role is not None and role < len(row) and row[role].strip().lower() in _STAFF:
            continue
        if person.name.lower() in _NO_PEOPLE:
            continue
        if not person.id:
            raise IntakeError(f"{path}, row {number}: there is neither an id nor an email. Fill one in.")
        if person.id.casefold() in seen:
            earlier, same = seen[person.id.casefold()]
            if same.name == person.name:
                continue  # one student in two sections
            raise IntakeError(
                f"{path}: rows {earlier} and {number} both have the id {person.id}, for {same.name} and {person.name}. "
                "Give each student an id of their own."
            )
        seen[person.id.casefold()] = number, person
        people.append(person)
        aliases.append([row[place].strip() for place in others if place < len(row)])
    return Roster(people, aliases)


def _person(row: list[str], columns: dict[str, int | None]) -> Person:
    def cell(kind: str) -> str:
        place = columns[kind]
        return row[place].strip() if place is not None and place < len(row) else ""

    name = cell("name") or f"{cell('first')} {cell('last')}".strip()
    email = cell("email")
    return Person(id=cell("id").lstrip("#") or email, name=name, email=email, section=cell("section"))


def _column(headers: list[str], names: Iterable[str]) -> int | None:
    return next((headers.index(name) for name in names if name in headers), None)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IntakeError(f"The roster {path} can't be read: {error.strerror}. Check the path.") from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _words(name: str) -> list[str]:
    """The words of a name, without accents and case."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", name) if unicodedata.category(letter) != "Mn")
    return re.findall(r"[^\W_]+", plain.casefold())
