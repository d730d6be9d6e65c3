"""Moodle's "Download all submissions": NAME_NUMBER_assignsubmission_KIND as folders, or before each file name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.intake.entry import Collected, Draft, FileRef
from grader.intake.formats.form import Format, levels
from grader.intake.names import path_within
from grader.intake.roster import Roster
from grader.intake.tree import Folder
from grader.intake.wanted import Wanted
from grader.results import Person

_NAME = re.compile(
    r"^(?P<name>.+?)(?:_(?P<number>\d+))?_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?$", re.DOTALL
)
_UNKNOWN = "Its name is not one that Moodle gives to a submission, so it does not say whose it is."


def _recognise(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    return next((level for level in levels(root) if any(True for _ in _named(level))), None)


def _named(level: Folder) -> Iterator[re.Match[str]]:
    for name in [*(folder.name for folder in level.subfolders), *(item.name for item in level.files)]:
        if found := _NAME.match(name):
            yield found


def _collect(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    found = Collected()
    drafts: dict[str, Draft] = {}
    uploads: set[str] = set()
    for folder in level.subfolders:
        if match := _NAME.match(folder.name):
            draft = _draft(drafts, match)
            draft.take(folder, "" if match["kind"] == "file" else f"{match['kind']}/")
            if match["kind"] == "file":
                uploads.add(_whose(match))
        else:
            found.explained += [(item, _UNKNOWN) for item in folder.items()]
    for item in sorted(level.files, key=lambda item: item.path):
        match = _NAME.match(item.name)
        if match is None:
            found.explained.append((item, _UNKNOWN))
            continue
        inside = match["file"] or f"{match['kind']}.html"
        path = inside if match["kind"] == "file" else f"{match['kind']}/{inside}"
        _draft(drafts, match).files.append(FileRef(path_within([path]), item))
        if match["kind"] == "file":
            uploads.add(_whose(match))
    for whose, draft in drafts.items():
        if whose not in uploads:
            draft.problem = f"Text was typed into the box instead of a file. Hand in {wanted.request} as a file."
        found.drafts.append(draft)
    return found


def _whose(match: re.Match[str]) -> str:
    return match["number"] or match["name"]


def _draft(drafts: dict[str, Draft], match: re.Match[str]) -> Draft:
    """The draft of whoever the name means; Moodle's number is the assignment's own, not a student number."""
    whose = _whose(match)
    if whose not in drafts:
        name = match["name"].replace("_", " ")
        label = f"{match['name']}_{match['number']}" if match["number"] else match["name"]
        anonymous = match["number"] is not None and name.casefold() in ("participant", "teilnehmer/in")
        drafts[whose] = Draft(label, [Person(id=whose, name="" if anonymous else name)], foreign_ids=True)
        if match["number"]:
            drafts[whose].notes.append(f"Moodle participant {match['number']}.")
    return drafts[whose]


FORMAT = Format("moodle", "a download of submissions from Moodle", _recognise, _collect)
