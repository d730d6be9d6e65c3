"""Join what a download says of people with what the roster says."""

from __future__ import annotations

from grader.intake.entry import Draft
from grader.intake.roster import Roster
from grader.results import Person


def join(draft: Draft, roster: Roster) -> str:
    """Replace the draft's people by the roster's where they are found; returns the label that the id is made of."""
    if draft.foreign_ids:
        draft.lms_ids = [person.id for person in draft.people]
    if not roster.people:
        return draft.label
    people: list[Person] = []
    known: list[str] = []
    for person in draft.people:
        found = roster.find(person, foreign_id=draft.foreign_ids)
        if found is None and not draft.foreign_ids:
            found = roster.find_label(person.id)
        if found is None:
            draft.notes.append(f"{person.name or person.id} is not on the roster.")
        else:
            known.append(found.id)
        people.append(found or person)
    draft.people = people
    return "_".join(known) if known and len(known) == len(people) else draft.label
