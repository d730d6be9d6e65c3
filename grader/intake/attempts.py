"""Several attempts of the same people: the latest is graded, the others are named."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo

from grader.intake.entry import Collected, Draft
from grader.intake.names import listed
from grader.rules.late import graded_attempt


@dataclass
class Attempt:
    """One of what may be several submissions of the same people."""

    whose: str
    """Equal for attempts of the same people."""
    name: str
    """What staff see it as."""
    when: datetime | None
    draft: Draft


def keep_latest(attempts: list[Attempt], zone: tzinfo | None, limit: int = 0) -> Collected:
    """The latest attempt of each, in the order in which their owners first appear; the others' files explained.

    A time without a zone is taken to be in `zone`. With a `limit`, only so many attempts count: the latest of these.
    """
    found = Collected()
    owners: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        owners.setdefault(attempt.whose, []).append(attempt)
    for theirs in owners.values():
        ordered = sorted(theirs, key=lambda attempt: (_comparable(attempt.when, zone), attempt.name))
        place = graded_attempt(len(ordered), limit)
        latest, earlier, beyond = ordered[place - 1], ordered[: place - 1], ordered[place:]
        latest.draft.attempt, latest.draft.attempts = place, len(ordered)
        if latest.when is not None:
            stamp(latest.draft, latest.when, zone)
        if beyond:
            names = listed([attempt.name for attempt in beyond])
            latest.draft.notes.append(
                f"Attempt {place} of {len(ordered)} is graded, the last that counts; later: {names}."
            )
        elif earlier:
            names = listed([attempt.name for attempt in earlier])
            latest.draft.notes.append(f"The latest of {len(ordered)} attempts is graded; earlier: {names}.")
        if len(ordered) > 1 and any(attempt.when is None for attempt in ordered):
            latest.draft.notes.append("Not every attempt says when it was made: look whether this is the latest.")
        for attempt in earlier:
            why = f"It belongs to an earlier attempt; the latest is graded ({latest.name})."
            found.explained += [(file.item, why) for file in attempt.draft.files]
        for attempt in beyond:
            why = f"It came after the last attempt that counts; {latest.name} is graded."
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


def _comparable(when: datetime | None, zone: tzinfo | None) -> float:
    if when is None:
        return float("-inf")
    return when.timestamp() if when.tzinfo else when.replace(tzinfo=zone or timezone.utc).timestamp()
