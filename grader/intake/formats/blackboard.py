"""Blackboard's "Assignment File Download": ASSIGNMENT_USER_attempt_TIME_FILE, and a receipt per attempt.

A user name may hold "_", which the name alone can't tell from the assignment's: the receipt says it in
parentheses, the roster may know it, and what all names share at their beginning is the assignment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from grader.intake.attempts import Attempt, keep_latest
from grader.intake.entry import Collected, Draft, FileRef
from grader.intake.formats.form import Format, levels
from grader.intake.names import path_within, shared_beginning
from grader.intake.roster import Roster
from grader.intake.tree import Folder, Item, Unreadable
from grader.intake.wanted import Wanted
from grader.results import Person

_NAME = re.compile(
    r"^(?P<head>.+?)_attempt_(?P<time>\d{4}(?:-\d{2}){5})(?:_(?P<file>.+)|(?P<receipt>\.txt))$", re.DOTALL
)
_WHO = re.compile(r"^[^:\n]{1,40}:[ \t]*(?P<name>[^\n(]*?)[ \t]*\((?P<user>[^()\s]+)\)", re.MULTILINE)
_RECEIPT_BYTES = 1 << 16
_RECEIPT = "Blackboard's receipt of an attempt: read for the name, not graded."
_UNKNOWN = "Its name is not one that Blackboard gives to a submission, so it does not say whose it is."


def _recognise(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    return next((level for level in levels(root) if any(_NAME.match(item.name) for item in level.files)), None)


def _collect(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    explained: list[tuple[Item, str]] = []
    matches: list[tuple[Item, re.Match[str]]] = []
    for item in sorted(level.files, key=lambda item: item.path):
        match = _NAME.match(item.name)
        if match:
            matches.append((item, match))
        else:
            explained.append((item, _UNKNOWN))
    people = _people(matches, roster)
    attempts: dict[tuple[str, str], Attempt] = {}
    for item, match in matches:
        head, time = match["head"], match["time"]
        if (head, time) not in attempts:
            person = people[head]
            draft = Draft(person.id, [person])
            attempts[head, time] = Attempt(head, time, _time(time), draft)
        if match["receipt"]:
            explained.append((item, _RECEIPT))
        else:
            attempts[head, time].draft.files.append(FileRef(path_within([match["file"]]), item))
    for attempt in attempts.values():
        if not attempt.draft.files:
            attempt.draft.problem = f"This attempt has text only, and no file. Hand in {wanted.request} as a file."
    found = keep_latest(list(attempts.values()), wanted.zone, wanted.attempts)
    found.explained += explained
    return found


def _people(matches: Sequence[tuple[Item, re.Match[str]]], roster: Roster) -> dict[str, Person]:
    """Who each head (assignment and user in one) means."""
    heads = sorted({match["head"] for _, match in matches})
    shared = shared_beginning(heads, "_")
    people: dict[str, Person] = {}
    for item, match in matches:
        if match["receipt"] and match["head"] not in people:
            told = _told(item)
            if told and match["head"].endswith(f"_{told.id}"):
                people[match["head"]] = told
    users = {person.id.casefold(): person.id for person in roster.people}
    for head in heads:
        if head not in people:
            tails = [head[place + 1 :] for place, letter in enumerate(head) if letter == "_"]
            known = next((users[tail.casefold()] for tail in tails if tail.casefold() in users), "")
            guess = head[len(shared) :] if shared else head.rpartition("_")[2]
            people[head] = Person(id=known or guess or head)
    return people


def _told(item: Item) -> Person | None:
    """The person whom a receipt names, as "Some label: Jane Doe (jdoe)"."""
    try:
        with item.store.open(item.key) as stream:
            data = stream.read(_RECEIPT_BYTES)
    except (Unreadable, OSError):
        return None
    match = _WHO.search(data.decode("utf-8-sig", "replace"))
    return Person(id=match["user"], name=match["name"]) if match else None


def _time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d-%H-%M-%S")  # Blackboard writes no zone
    except ValueError:
        return None


FORMAT = Format("blackboard", "a download of attempts from Blackboard", _recognise, _collect)
