"""`submission_metadata.json`: who handed in when, what is due when for them, and what they handed in before.

Written by the service, so it can be trusted; but its form is only partly documented, so nothing in it must be there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.results import Person
from grader.rules.times import parse_time
from grader.text import clean


@dataclass(frozen=True)
class Previous:
    """An earlier submission of the same people."""

    submitted_at: str
    score: float | None
    faulty: bool
    """Whether it failed through no fault of the student; such a one does not count."""
    results: dict[str, Any] | None
    """What we wrote then, as the service gives it back; only for some of them."""


@dataclass(frozen=True)
class Metadata:
    """What a run needs of the file; empty where the service did not say."""

    id: str = ""
    people: tuple[Person, ...] = ()
    submitted_at: str = ""
    """When the service received it. A later run of the same submission has the same time."""
    due: str = ""
    """Extensions applied; of a group, the latest of its members."""
    total_points: float | None = None
    previous: tuple[Previous, ...] = ()
    """Oldest first, only those that were handed in before this one."""
    problem: str = ""
    """For staff: why nothing could be read."""

    @property
    def counted(self) -> tuple[Previous, ...]:
        """The earlier submissions that use up an attempt."""
        return tuple(one for one in self.previous if not one.faulty)


def read(path: Path) -> Metadata:
    """The file as Metadata; an empty one with a `problem` when it can't be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        return Metadata(problem=f"{path.name} can't be read: {error}")
    if not isinstance(data, dict):
        return Metadata(problem=f"{path.name} holds no object.")
    users = [user for user in _list(data.get("users")) if isinstance(user, dict)]
    submitted_at = _time(data.get("created_at"))
    assignment = _dict(data.get("assignment"))
    return Metadata(
        id=_word(data.get("id")),
        people=tuple(_person(user) for user in users),
        submitted_at=submitted_at,
        due=_due(users, assignment),
        total_points=_number(assignment.get("total_points")),
        previous=_earlier(_list(data.get("previous_submissions")), submitted_at),
    )


def _person(user: dict[str, Any]) -> Person:
    email = _word(user.get("email"))
    return Person(
        id=_word(user.get("sid")) or email or _word(user.get("id")) or "unknown",
        name=_word(user.get("name")),
        email=email,
    )


def _due(users: list[dict[str, Any]], assignment: dict[str, Any]) -> str:
    """The latest of the members' own due dates: an extension for one lets the group hand in later."""
    own = [_time(_dict(user.get("assignment")).get("due_date")) for user in users]
    return _latest(own) or _time(assignment.get("due_date"))


def _latest(times: Iterable[str]) -> str:
    known = [(moment, text) for text in times if (moment := _aware(text))]
    return max(known, default=(None, ""), key=lambda one: one[0])[1]


def _earlier(previous: list[Any], submitted_at: str) -> tuple[Previous, ...]:
    this = _aware(submitted_at)
    found: list[tuple[datetime, Previous]] = []
    for one in previous:
        if not isinstance(one, dict):
            continue
        time = _time(one.get("submission_time"))
        moment = _aware(time)
        # When an older submission is graded again, those that came after it say nothing about it.
        if moment is None or (this is not None and moment >= this):
            continue
        results = one.get("results")
        found.append(
            (
                moment,
                Previous(
                    submitted_at=time,
                    score=_number(one.get("score")),
                    faulty=one.get("autograder_error") is True or _was_ours(results),
                    results=results if isinstance(results, dict) else None,
                ),
            )
        )
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))


def _was_ours(results: object) -> bool:
    """Whether we wrote then that the mistake was ours: the service takes such a run for a good one."""
    return _dict(_dict(results).get("extra_data")).get("status") == "error"


def _aware(text: str) -> datetime | None:
    moment = parse_time(text)
    return moment if moment is not None and moment.tzinfo is not None else None


def _time(value: object) -> str:
    """A time with its offset as the service writes it, or nothing."""
    return value.strip() if isinstance(value, str) and _aware(value) else ""


def _word(value: object) -> str:
    return clean(str(value), 200) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _number(value: object) -> float | None:
    """A number, or the text of one: the service writes both."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < 1e9 else None  # refuses NaN and infinities, too


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
