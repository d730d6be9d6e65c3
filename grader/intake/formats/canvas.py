"""Canvas's "Download Submissions": one flat zip; each name tells who, whether late, and which file.

WHO[_LATE]_USER_FILE_NAME, [LATE_]anon_CODE_FILE_NAME, and WHO[_LATE]_USER_text.html or _link.html.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.intake.entry import Collected, Draft, FileRef
from grader.intake.formats.form import Format, levels
from grader.intake.names import fold, path_within
from grader.intake.roster import Roster
from grader.intake.tree import Folder
from grader.intake.wanted import Wanted
from grader.results import Person

_ANONYMOUS = re.compile(r"^(?:(?P<late>LATE)_)?anon_(?P<user>[A-Za-z0-9]+)_(?P<file>\d+)_(?P<name>.+)$", re.DOTALL)
_TYPED = re.compile(r"^(?:(?P<who>\w+?)_)?(?:(?P<late>LATE|late)_)?(?P<user>\d+)_(?P<kind>text|link)(?:-\d+)?\.html$")
_FILE = re.compile(r"^(?:(?P<who>\w+?)_)?(?:(?P<late>LATE|late)_)?(?P<user>\d+)_(?P<file>\d+)_(?P<name>.+)$", re.DOTALL)
_UNKNOWN = "Its name is not one that Canvas gives to a submission, so it does not say whose it is."


@dataclass(frozen=True)
class _Name:
    who: str
    user: str
    late: bool
    file: int
    """Canvas's number of the upload; larger is later. 0 for what was typed."""
    name: str
    kind: str


def _parse(name: str) -> _Name | None:
    if found := _ANONYMOUS.match(name):
        return _Name("", found["user"], bool(found["late"]), int(found["file"]), found["name"], "file")
    if found := _TYPED.match(name):
        return _Name(found["who"] or "", found["user"], bool(found["late"]), 0, f"{found['kind']}.html", found["kind"])
    if found := _FILE.match(name):
        who = found["who"] or ""
        return _Name(who, found["user"], bool(found["late"]), int(found["file"]), found["name"], "file")
    return None


def _recognise(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    for level in levels(root):
        fitting = [name for name in (_parse(item.name) for item in level.files) if name is not None]
        users = {name.user for name in fitting}
        owners = {(name.who, name.user) for name in fitting}
        # Numbers that many people share are a date or a course, and no Canvas users.
        if fitting and 2 * len(fitting) >= len(level.files) and 4 * len(users) > 3 * len(owners) and not level.folders:
            return level
    return None


def _collect(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    found = Collected()
    drafts: dict[tuple[str, str], Draft] = {}  # by name too: students choose theirs, and "x_123" looks like a user
    kinds: dict[tuple[str, str], set[str]] = {}
    for item in sorted(level.files, key=lambda item: item.path):
        name = _parse(item.name)
        if name is None:
            found.explained.append((item, _UNKNOWN))
            continue
        owner = (name.who, name.user)
        if owner not in drafts:
            label = f"{name.who}_{name.user}" if name.who else f"anonymous-{name.user}"
            drafts[owner] = Draft(label, [Person(id=name.user, name=name.who)], foreign_ids=True)
            drafts[owner].notes.append(f"Canvas user {name.user}.")
        draft = drafts[owner]
        kinds.setdefault(owner, set()).add(name.kind)
        if name.late and not any("late" in note for note in draft.notes):
            draft.notes.append("Canvas marks it as late.")
        draft.files.append(FileRef(path_within([name.name]), item))
    for owner, draft in drafts.items():
        _restore_names(draft, wanted)
        if "file" not in kinds[owner]:
            draft.problem = _typed(kinds[owner], wanted)
        found.drafts.append(draft)
    return found


def _restore_names(draft: Draft, wanted: Wanted) -> None:
    """Take off the "-1" of a resubmission where that gives a name that was asked for and is free."""
    taken = {fold(file.path) for file in draft.files}
    for place, file in enumerate(draft.files):
        asked = wanted.asked_for(file.path)
        if asked and fold(asked) not in taken:
            draft.notes.append(f"{file.path} was read as {asked}: Canvas numbers a file that is handed in again.")
            draft.files[place] = FileRef(asked, file.item)
            taken.add(fold(asked))


def _typed(kinds: set[str], wanted: Wanted) -> str:
    if "link" in kinds:
        return f"A link was handed in, and links are not followed. Hand in {wanted.request} as a file."
    return f"Text was typed into the box instead of a file. Hand in {wanted.request} as a file."


FORMAT = Format("canvas", "a download of submissions from Canvas", _recognise, _collect)
