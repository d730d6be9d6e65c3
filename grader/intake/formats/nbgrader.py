"""nbgrader: the course's submitted/STUDENT/ASSIGNMENT/ tree, and the exchange's USER+ASSIGNMENT+TIME folders."""

from __future__ import annotations

import re
from datetime import datetime

from grader.errors import IntakeError
from grader.intake.attempts import Attempt, keep_latest, stamp
from grader.intake.entry import Collected, Draft, FileRef
from grader.intake.formats.form import Format, levels
from grader.intake.names import listed
from grader.intake.roster import Roster
from grader.intake.tree import Folder, Item, Unreadable
from grader.intake.wanted import Wanted
from grader.results import Person
from grader.rules.times import parse_time

_TREE = "submitted"
_STEPS = frozenset({"source", "release", "autograded", "feedback"})
_INBOUND = re.compile(
    r"^(?P<user>.+)\+(?P<assignment>[^+]+)\+(?P<time>\d{4}-\d\d-\d\d[ _T][^+]*)(?:\+(?P<random>[^+]*))?$"
)
_OWN = {
    "timestamp.txt": "nbgrader's note of the time: read, not graded.",
    "submission_secret.txt": "nbgrader's own file, not graded.",
}
_UNKNOWN = "Its place is not one that nbgrader gives to a submission, so it does not say whose it is."
_OTHER = "It belongs to another assignment of the course."


def _recognise(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    for level in levels(root):
        if _TREE in level.folders and (_STEPS & set(level.folders) or len(level.folders) == 1):
            level = level.folders[_TREE]
        if level.name == _TREE and any(student.folders for student in level.subfolders):
            return level
        if any(_INBOUND.match(folder.name) for folder in level.subfolders):
            return level
    return None


def _collect(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    if any(_INBOUND.match(folder.name) for folder in level.subfolders):
        return _exchange(level, wanted)
    return _tree(level, wanted)


def _exchange(level: Folder, wanted: Wanted) -> Collected:
    explained: list[tuple[Item, str]] = []
    by_assignment: dict[str, list[tuple[Folder, re.Match[str]]]] = {}
    for folder in level.subfolders:
        if match := _INBOUND.match(folder.name):
            by_assignment.setdefault(match["assignment"], []).append((folder, match))
        else:
            explained += [(item, _UNKNOWN) for item in folder.items()]
    chosen = _chosen({name: [folder for folder, _ in found] for name, found in by_assignment.items()}, wanted)
    attempts: list[Attempt] = []
    for name, handed_in in by_assignment.items():
        for folder, match in handed_in:
            if name != chosen:
                explained += [(item, _OTHER) for item in folder.items()]
                continue
            draft = Draft(match["user"], [Person(id=match["user"])])
            when = _take(draft, folder, explained) or parse_time(match["time"].replace("_", " "))
            attempts.append(Attempt(match["user"], match["time"], when, draft))
    found = keep_latest(attempts, wanted.zone, wanted.attempts)
    found.explained += explained
    return found


def _tree(level: Folder, wanted: Wanted) -> Collected:
    found = Collected()
    by_assignment: dict[str, list[Folder]] = {}
    for student in level.subfolders:
        for folder in student.subfolders:
            by_assignment.setdefault(folder.name, []).append(folder)
    chosen = _chosen(by_assignment, wanted)
    for student in level.subfolders:
        found.explained += [(item, _UNKNOWN) for item in student.files]
        for folder in student.subfolders:
            if folder.name != chosen:
                found.explained += [(item, _OTHER) for item in folder.items()]
                continue
            draft = Draft(student.name, [Person(id=student.name)])
            when = _take(draft, folder, found.explained)
            if when is not None:
                stamp(draft, when, wanted.zone)
            found.drafts.append(draft)
    return found


def _chosen(by_assignment: dict[str, list[Folder]], wanted: Wanted) -> str:
    """The one assignment that is meant: the only one, or the only one with a file that was asked for."""
    names = list(by_assignment)
    if len(names) > 1:
        names = [name for name, folders in by_assignment.items() if any(_asked(folder, wanted) for folder in folders)]
    if len(names) == 1:
        return names[0]
    there = listed(sorted(names or by_assignment))
    raise IntakeError(
        f"These are submissions for several assignments of nbgrader ({there}), and it is not clear which is meant. "
        "Give the folders of one, as in: submitted/*/NAME."
    )


def _asked(folder: Folder, wanted: Wanted) -> bool:
    return any(wanted.asked_for(item.name) for item in folder.items())


def _take(draft: Draft, folder: Folder, explained: list[tuple[Item, str]]) -> datetime | None:
    """Give the draft what the folder holds, without nbgrader's own files; returns the time that these tell."""
    draft.take(folder)
    when: datetime | None = None
    for file in list(draft.files):
        if file.path in _OWN:
            draft.files.remove(file)
            explained.append((file.item, _OWN[file.path]))
            if file.path == "timestamp.txt":
                when = _told(file)
    return when


def _told(file: FileRef) -> datetime | None:
    try:
        with file.item.store.open(file.item.key) as stream:
            return parse_time(stream.read(200).decode("utf-8", "replace"))
    except (Unreadable, OSError):
        return None


FORMAT = Format("nbgrader", "submissions collected by nbgrader", _recognise, _collect)
