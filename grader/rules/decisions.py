"""What staff decided about single people, from two small CSV files: extensions, and points given or taken by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from grader.errors import UsageError
from grader.results import Struct
from grader.rules.times import moment
from grader.sheets import sheet
from grader.sheets.sheet import Row
from grader.text import clean

LONGEST_REASON = 500
MOST_POINTS = 10_000.0
_IDS = ("id", "student id", "student", "sid", "username", "email", "submission")
_LONGEST = timedelta(days=1000)
_SPAN = re.compile(r"(\d+(?:[.,]\d+)?)\s*(d|days?|h|hours?|m|min|minutes?)\b\s*", re.IGNORECASE)
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


class Extension(Struct, frozen=True):
    """More time for a person: a due date of their own, or time on top of everybody's."""

    due: str = ""
    """ISO 8601 with offset."""
    extra_seconds: float = 0.0


class Manual(Struct, frozen=True):
    """Points that staff give (or take, when negative), and why."""

    points: float
    reason: str


def read_extensions(path: Path) -> dict[str, Extension]:
    """Id -> extension, from columns `id` and `due` (ISO 8601 with offset) or `extra` ("2 days", "36 h", "1 d 12 h").

    Ids are compared without case. Raises UsageError naming file and line.
    """
    found: dict[str, Extension] = {}
    lines: dict[str, int] = {}
    for row, cells in _table(path, {"id": _IDS, "due": ("due", "due date"), "extra": ("extra", "extra time")}):
        where = f"{path}, line {row.number}"
        due, extra = cells["due"], cells["extra"]
        if bool(due) == bool(extra):
            raise UsageError(f"{where}: fill in either “due” or “extra”.")
        key = cells["id"].casefold()
        if key in lines:
            raise UsageError(f"{where}: {cells['id']} has an extension in line {lines[key]} already. Keep one of them.")
        lines[key] = row.number
        if due:
            moment(due, f"{where}: due")
        found[key] = Extension(due, _span(extra, where) if extra else 0.0)
    return found


def read_adjustments(path: Path) -> dict[str, list[Manual]]:
    """Id -> what staff decided, from columns `id`, `points` and `reason`; one id may stand in several lines.

    The students read the reason, so it must be there. Raises UsageError naming file and line.
    """
    found: dict[str, list[Manual]] = {}
    columns = {"id": _IDS, "points": ("points", "score", "change"), "reason": ("reason", "why", "comment")}
    for row, cells in _table(path, columns):
        where = f"{path}, line {row.number}"
        try:
            points = float(cells["points"].replace("−", "-").replace(",", "."))
        except ValueError:
            points = math.nan
        if not math.isfinite(points):
            raise UsageError(f"{where}: points: {cells['points']!r} is not a number. Write 2.5 or -1.")
        if abs(points) > MOST_POINTS:
            raise UsageError(f"{where}: points: {cells['points']} are more than any assignment has. Mend the number.")
        if not cells["reason"]:
            raise UsageError(f"{where}: reason: it is empty. Students read it in their report; say why.")
        reason = clean(cells["reason"], LONGEST_REASON)
        found.setdefault(cells["id"].casefold(), []).append(Manual(round(points, 3), reason))
    return found


def _table(path: Path, columns: dict[str, tuple[str, ...]]) -> Iterator[tuple[Row, dict[str, str]]]:
    """The rows that hold something, as column -> text. The columns' headings may be any of those given."""
    try:
        rows = sheet.read(str(path), path.read_bytes()).rows
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}. Check the path.") from None
    rows = [row for row in rows if any(value.strip() for value in row.values)]
    headings = [re.sub(r"[\s_\-]+", " ", value.strip().lower()) for value in rows[0].values] if rows else []
    places = {
        key: next((headings.index(name) for name in names if name in headings), None) for key, names in columns.items()
    }
    needed = ("id", "points", "reason") if "points" in columns else ("id",)
    for key in needed:
        if places[key] is None:
            raise UsageError(f"{path}: no column is called “{key}”; there is: {', '.join(headings) or 'nothing'}.")
    for row in rows[1:]:
        cells = {key: row.value(place).strip() for key, place in places.items()}
        if not cells["id"]:
            raise UsageError(f"{path}, line {row.number}: id: it is empty. Fill in whom this is about.")
        yield row, cells


def _span(text: str, where: str) -> float:
    """Seconds of "2 days", "36h", "1 d 12 h"."""
    seconds, at = 0.0, 0
    while part := _SPAN.match(text, at):
        seconds += float(part[1].replace(",", ".")) * _UNITS[part[2][0].lower()].total_seconds()
        at = part.end()
    if at < len(text) or seconds <= 0:
        raise UsageError(f"{where}: extra: {text!r} is not a length of time. Write 2 days, 36 h or 1 d 12 h.")
    if seconds > _LONGEST.total_seconds():
        raise UsageError(f"{where}: extra: {text!r} is more than {_LONGEST.days} days. Write the due date instead.")
    return seconds
