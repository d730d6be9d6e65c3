"""From paths to entries: open each, recognise its form, collect its submissions, account for every file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from grader.assignment import Settings
from grader.errors import IntakeError
from grader.intake.attempts import settle
from grader.intake.entry import Collected, Draft, Entry, Explained
from grader.intake.formats import FORMATS, Format
from grader.intake.formats.plain import ONE, of_file, person_of
from grader.intake.ids import Ids, slug
from grader.intake.inputs import Input, open_input
from grader.intake.intake import Intake
from grader.intake.join import join
from grader.intake.names import fold, listed, visible
from grader.intake.roster import Roster, read_roster
from grader.intake.tree import Folder, Item, Unreadable
from grader.intake.wanted import Wanted
from grader.results import NOTHING, Person

SOURCES = ("auto", *(form.name for form in FORMATS))
_BESIDE = "It lies beside the submissions and belongs to none of them."


def scan(paths: Sequence[Path], settings: Settings, *, source: str = "auto", roster: Path | None = None) -> Intake:
    """Find the submissions in files, folders and zips. Reads names and small lists only.

    `source`: one of SOURCES; "auto" tells by what is inside. Raises IntakeError: a path that does not exist, an
    unknown source, a roster that can't be read, or nothing that could be a submission; ReadError: a path that this
    machine can't read.
    """
    if source not in SOURCES:
        raise IntakeError(f"There is no source {source!r}. There is: {', '.join(SOURCES)}.")
    if not paths:
        raise IntakeError("No path was given. Give a file, a folder or a zip of submissions.")
    wanted = Wanted.of(settings)
    known = Roster([]) if roster is None else read_roster(roster)
    inputs = [open_input(path) for path in paths]
    drafts: list[Draft] = []
    reasons: list[tuple[Item, str]] = []
    understood: list[str] = []
    for opened in inputs:
        collected, title = _collect(opened, wanted, known, source, inputs)
        understood.append(f"{opened.shown}: {title or 'nothing to grade'}.")
        drafts += collected.drafts
        reasons += collected.explained
    labels = {id(draft): join(draft, known) for draft in drafts}
    settled = settle(drafts)
    explained = list(_explained(inputs, settled.drafts, reasons + settled.explained))
    if not settled.drafts:
        raise IntakeError(_nothing(paths, inputs, wanted, explained, source))
    for draft in settled.drafts:
        if not draft.problem and not draft.fault and not any(wanted.could_be_work(file.path) for file in draft.files):
            draft.problem = wanted.nothing_usable([file.path for file in draft.files], draft.junk, draft.refused)
    entries = _entries(settled.drafts, labels, known)
    return Intake(entries, list(_junk(inputs)), explained, understood, wanted, inputs)


def _collect(opened: Input, wanted: Wanted, known: Roster, source: str, inputs: list[Input]) -> tuple[Collected, str]:
    """The submissions of one of the inputs, and what it was taken for."""
    alone = len(inputs) == 1
    namesakes = sum(other.root.name == opened.root.name for other in inputs) > 1
    if opened.file is not None:
        if opened.problem and alone:
            raise IntakeError(opened.problem)
        if not wanted.could_be_work(opened.file.name):
            return Collected(explained=[(opened.file, f"It is not a {wanted.endings} file.")]), ""
        draft = of_file(opened.file)
        draft.problem = opened.problem
        if not alone and wanted.asked_for(opened.file.name):
            _rename(draft, opened.parent)  # ada/attention.py and bob/attention.py
        return Collected([draft]), "one file"
    form, level = _form(opened.root, wanted, known, source)
    if form is None or level is None:
        return Collected(), ""
    try:
        collected = form.collect(level, wanted, known)
    except Unreadable as reason:
        raise IntakeError(f"{opened.shown}: {reason}") from None
    if form is not ONE:
        _refuse_defects(opened, collected)
    elif opened.zip is not None or not alone:
        _rename(collected.drafts[0], opened.parent if namesakes else opened.root.name)
    return collected, form.title


def _refuse_defects(opened: Input, collected: Collected) -> None:
    """A download that is itself locked or damaged is no student's fault. Raises IntakeError."""
    for draft in collected.drafts:
        for file in draft.files:
            if file.item.defect:
                raise IntakeError(f"{opened.shown}: {file.item.defect}")


def _rename(draft: Draft, label: str) -> None:
    draft.label = label
    draft.people = [person_of(label)]


def _form(root: Folder, wanted: Wanted, known: Roster, source: str) -> tuple[Format | None, Folder | None]:
    for form in FORMATS:
        if source in ("auto", form.name):
            level = form.recognise(root, wanted, known)
            if level is not None:
                return form, level
            if source == form.name:
                return form, form.otherwise(root)
    return None, None


def _explained(inputs: list[Input], drafts: list[Draft], reasons: list[tuple[Item, str]]) -> Iterator[Explained]:
    """All files of the inputs that no draft has, and all that was refused."""
    why = {id(item): reason for item, reason in reasons}
    taken = {id(file.item) for draft in drafts for file in draft.files}
    for opened in inputs:
        for shown, tree in opened.trees:
            for item in tree.items():
                if id(item) not in taken and item is not opened.container:
                    yield Explained(f"{shown}/{item.path}", why.get(id(item), _BESIDE))
            for folder in tree.everything():
                for refused in folder.refused:
                    yield Explained(f"{shown}/{refused.path}", refused.why)


def _junk(inputs: list[Input]) -> Iterator[str]:
    for opened in inputs:
        for shown, tree in opened.trees:
            for folder in tree.everything():
                for name in folder.junk:
                    yield f"{shown}/{folder.path}/{name}" if folder.path else f"{shown}/{name}"


def _nothing(
    paths: Sequence[Path], inputs: list[Input], wanted: Wanted, explained: list[Explained], source: str
) -> str:
    where = listed([str(path) for path in paths])
    if not explained:
        return f"{where} is empty: there is no file in it. Give the folder or zip that holds the submissions."
    found = listed([entry.path for entry in explained])
    if source != "auto":
        return (
            f"{where} does not look like what {source!r} gives. There is: {found}. Leave “--from” away, or change it."
        )
    return (
        f"Nothing in {where} could be a submission: there is no {wanted.endings} file and no zip. There is: {found}. "
        "Give the folder or zip that holds the submissions, or change “accepts” in assignment.toml."
    )


def _with_lms_ids(draft: Draft) -> tuple[Person, ...]:
    if len(draft.lms_ids) != len(draft.people):
        return tuple(draft.people)
    pairs = zip(draft.people, draft.lms_ids, strict=True)
    return tuple(msgspec.structs.replace(person, lms_id=number) for person, number in pairs)


def _entries(drafts: list[Draft], labels: dict[int, str], known: Roster) -> list[Entry]:
    ids = Ids()
    entries: list[Entry] = []
    present: set[int] = set()  # by identity: a learning system's number can equal somebody's student number
    for draft in sorted(drafts, key=lambda draft: (fold(labels[id(draft)]), labels[id(draft)])):
        present |= {id(person) for person in draft.people}
        entries.append(
            Entry(
                id=ids.give(visible(labels[id(draft)])),
                people=_with_lms_ids(draft),
                files=tuple(draft.files),
                submitted_at=draft.submitted_at,
                notes=tuple(visible(note) for note in draft.notes),
                problem=visible(draft.problem),
                fault=visible(draft.fault),
                attempt=draft.attempt,
                attempts=draft.attempts,
                former=slug(visible(draft.label)),
            )
        )
    for person in known.people:
        if id(person) not in present:
            entries.append(Entry(ids.give(person.id), (person,), (), problem=NOTHING, missing=True))
    return entries
