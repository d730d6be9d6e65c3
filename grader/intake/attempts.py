"""Several attempts of the same people: the latest is graded, the others are named."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo

from grader.intake.entry import Collected, Draft
from grader.intake.names import listed


@dataclass
class Attempt:
    """One of what may be several submissions of the same people."""

    whose: str
    """Equal for attempts of the same people."""
    name: str
    """What staff see it as."""
    when: datetime | None
    draft: Draft


def keep_latest(attempts: list[Attempt], zone: tzinfo | None) -> Collected:
    """The latest attempt of each, in the order in which their owners first appear; the others' files explained.

    A time without a zone is taken to be in `zone`.
    """
    found = Collected()
    owners: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        owners.setdefault(attempt.whose, []).append(attempt)
    for theirs in owners.values():
        ordered = sorted(theirs, key=lambda attempt: (_comparable(attempt.when, zone), attempt.name))
        latest, earlier = ordered[-1], ordered[:-1]
        if latest.when is not None:
            stamp(latest.draft, latest.when, zone)
        if earlier:
            names = listed([attempt.name for attempt in earlier])
            latest.draft.notes.append(f"The latest of {len(ordered)} attempts is graded; earlier: {names}.")
            if any(attempt.when is None for attempt in ordered):
                latest.draft.notes.append("Not every attempt says when it was made: look whether this is the latest.")
        for attempt in earlier:
            why = f"It belongs to an earlier attempt; the latest is graded ({latest.name})."
            found.explained += [(file.item, why) for file in attempt.draft.files]
        found.drafts.append(latest.draft)
    return found


def settle(drafts: list[Draft]) -> Collected:
    """Of drafts of the same people, from several downloads, the latest; all, with a note, where a time is not told."""
    found = Collected()
    owners: dict[frozenset[str], list[Draft]] = {}
    for draft in drafts:
        owners.setdefault(frozenset(person.id for person in draft.people), []).append(draft)
    for theirs in owners.values():
        if len(theirs) > 1 and all(draft.submitted_at for draft in theirs):
            theirs.sort(key=lambda draft: datetime.fromisoformat(draft.submitted_at))
            earlier = listed([draft.submitted_at for draft in theirs[:-1]])
            theirs[-1].notes.append(f"The latest of {len(theirs)} downloads is graded; earlier: {earlier}.")
            for draft in theirs[:-1]:
                why = f"It was handed in earlier; what was handed in at {theirs[-1].submitted_at} is graded."
                found.explained += [(file.item, why) for file in draft.files]
            del theirs[:-1]
        elif len(theirs) > 1:
            for draft in theirs:
                draft.notes.append(
                    f"There are {len(theirs)} submissions under this name or number; look which one counts."
                )
    kept = {id(draft) for theirs in owners.values() for draft in theirs}
    found.drafts = [draft for draft in drafts if id(draft) in kept]
    return found


def stamp(draft: Draft, when: datetime, zone: tzinfo | None) -> None:
    """Note when a draft was handed in; a time without a zone is taken to be in `zone`, if that is known."""
    if when.tzinfo is None:
        if zone is None:
            draft.notes.append(f"Handed in at {when.isoformat(' ', 'minutes')}, in a time zone that is not told.")
            return
        when = when.replace(tzinfo=zone)
    draft.submitted_at = when.isoformat()


def parse_time(value: object) -> datetime | None:
    """A time as a YAML reader, a JSON file or a text gives it: ISO 8601, with or without zone, "Z" or "UTC"."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip().replace(" UTC", "+00:00").replace(" Z", "+00:00")
    if text.endswith("Z"):
        text = text[:-1] + "+00:00"
    head, dot, tail = text.partition(".")
    if dot:  # Python 3.10 takes three or six digits of a second, nothing else
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[:digits][:6].ljust(6, '0')}{tail[digits:].strip()}"
    elif " +" in text or " -" in text:
        text = text.replace(" +", "+").replace(" -", "-")
    if len(text) > 5 and text[-5] in "+-" and text[-4:].isdigit():
        text = f"{text[:-2]}:{text[-2:]}"
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _comparable(when: datetime | None, zone: tzinfo | None) -> float:
    if when is None:
        return float("-inf")
    return when.timestamp() if when.tzinfo else when.replace(tzinfo=zone or timezone.utc).timestamp()
