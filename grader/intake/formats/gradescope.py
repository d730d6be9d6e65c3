"""Gradescope's "Download Submissions": a folder per submission, and who made them in submission_metadata.yml.

The list is Ruby's YAML: its own keys begin with a colon. It repeats every result of every test and can be very
large, so it is cut into one piece a submission, without the results, before it is parsed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from grader.intake.attempts import stamp
from grader.intake.entry import Collected, Draft, FileRef
from grader.intake.formats.form import Format, levels
from grader.intake.names import listed
from grader.intake.roster import Roster
from grader.intake.tree import Folder, Item, Unreadable
from grader.intake.wanted import Wanted
from grader.results import Person
from grader.rules.times import parse_time

LIST = "submission_metadata.yml"
_PIECE = 8 << 20
"""Characters of the list that one submission may take, results left out."""
_NOTHING = ("~", "null")
_NO_FILES = (
    "Gradescope lists this submission, but its files did not come with the download. "
    "Tell the staff, who have to download it again."
)
_BESIDE = "Gradescope's list of submissions: read for names and times, not graded."


def _recognise(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    return next((level for level in levels(root) if any(item.name == LIST for item in level.files)), None)


def _collect(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    found = Collected()
    records: dict[str, dict[str, Any]] = {}
    for item in level.files:
        if item.name == LIST:
            found.explained.append((item, _BESIDE))
            records = dict(_records(item))
    files = {item.name: item for item in level.files}
    for name, record in records.items():
        draft = _draft(name, record, wanted)
        if name in level.folders:
            draft.take(level.folders[name])
        elif name in files:
            draft.files.append(FileRef(files[name].name, files[name]))
        else:
            draft.problem = _NO_FILES
        found.drafts.append(draft)
    for name in sorted(set(level.folders) - set(records)):
        folder = level.folders[name]
        draft = Draft(folder.name, [Person(id=folder.name)], notes=[f"{LIST} does not say whose this is."])
        draft.take(folder)
        found.drafts.append(draft)
    return found


def _draft(name: str, record: dict[str, Any], wanted: Wanted) -> Draft:
    submitters = record.get(":submitters")
    people = [_person(one) for one in submitters if isinstance(one, dict)] if isinstance(submitters, list) else []
    people = [person for person in people if person.id]
    label = "_".join(sorted(person.id.partition("@")[0] for person in people)) or name
    draft = Draft(label, people or [Person(id=name)])
    draft.notes.append(f"Gradescope calls it {name}.")
    when = parse_time(record.get(":created_at"))
    if when is not None:
        stamp(draft, when, wanted.zone)
    history = record.get(":history")
    if isinstance(history, list) and history:
        earlier = [f"{one.get(':id', '?')}" for one in history if isinstance(one, dict)]
        draft.notes.append(f"The active submission is graded; {len(earlier)} earlier: {listed(earlier)}.")
        draft.attempt = draft.attempts = len(earlier) + 1
    return draft


def _person(record: dict[str, Any]) -> Person:
    def text(key: str) -> str:
        value = record.get(key)
        return value.strip() if isinstance(value, str) and value.strip() not in _NOTHING else ""

    return Person(id=text(":sid") or text(":email") or text(":name"), name=text(":name"), email=text(":email"))


def _records(item: Item) -> Iterator[tuple[str, dict[str, Any]]]:
    """The list's submissions: folder name and record. Raises Unreadable."""
    import yaml  # slow to import, and only this format needs it

    # The base loaders make text of everything: a student number keeps its zeros, and Ruby's own types are no error.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    for number, piece in _pieces(item):
        try:
            loaded = yaml.load(piece, Loader=loader)
        except (yaml.YAMLError, ValueError) as error:
            detail = " ".join(str(error).split())[:200]
            raise Unreadable(f"{item.path} can't be read near line {number}: {detail}. Download it again.") from None
        if isinstance(loaded, dict):
            for name, record in loaded.items():
                yield str(name), record if isinstance(record, dict) else {}


def _pieces(item: Item) -> Iterator[tuple[int, str]]:
    """The text in pieces that begin with a line at the margin, each with its line number."""
    lines: list[str] = []
    begun = length = 0
    skipping = False
    with item.store.open(item.key) as raw:
        for number, line in enumerate(io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace"), start=1):
            if line.startswith(("---", "...", "#", "%")):
                continue
            if not line[0].isspace() and line[0] != "-":
                if lines:
                    yield begun, "".join(lines)
                lines, begun, length, skipping = [], number, 0, False
            elif skipping and re.match(r" {0,2}[^\s\-]", line):
                skipping = False
            if re.match(r" {1,2}:results:", line):
                skipping = True
            if not skipping:
                lines.append(line)
                length += len(line)
                if length > _PIECE:
                    raise Unreadable(f"{item.path} has one submission of {length} letters, from line {begun}.")
    if lines:
        yield begun, "".join(lines)


FORMAT = Format("gradescope", "a download of submissions from Gradescope", _recognise, _collect)
