"""From paths to entries: open each, recognise its form, collect its submissions, account for every file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from grader.assignment import Settings
from grader.errors import IntakeError
from grader.intake import reading
from grader.intake.entry import Collected, Draft, Entry, Explained
from grader.intake.formats import FORMATS, Format
from grader.intake.formats.plain import of_file, person_of
from grader.intake.ids import Ids
from grader.intake.inputs import Input, open_input
from grader.intake.join import join
from grader.intake.names import listed, path_within
from grader.intake.roster import Roster, read_roster
from grader.intake.tree import Folder
from grader.intake.wanted import Wanted
from grader.submission import Submission

SOURCES = ("auto", *(form.name for form in FORMATS))
_BESIDE = "It lies beside the submissions and belongs to none of them."


class Intake:
    """What was found. Holds names only; `read` fetches the contents of one entry at a time."""

    def __init__(
        self,
        entries: list[Entry],
        junk: list[str],
        explained: list[Explained],
        understood: list[str],
        wanted: Wanted,
        inputs: list[Input],
    ) -> None:
        self.entries = entries
        self.junk = junk
        """Files that computers make by themselves; one ending in "/" stands for all that it holds."""
        self.explained = explained
        """Input files that are no part of a submission, each with why."""
        self.understood = understood
        """For staff: as what each path was taken."""
        self._wanted = wanted
        self._inputs = inputs

    def read(self, entry: Entry) -> Submission:
        """The entry with its contents. What can't be read becomes the submission's `problem`, never an error."""
        return reading.read(entry, self._wanted)

    def close(self) -> None:
        """Close the archives; nothing can be read afterwards."""
        for opened in self._inputs:
            if opened.zip is not None:
                opened.zip.close()

    def __enter__(self) -> Intake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def scan(paths: Sequence[Path], settings: Settings, *, source: str = "auto", roster: Path | None = None) -> Intake:
    """Find the submissions in files, folders and zips. Reads names and small lists only.

    `source`: one of SOURCES; "auto" tells by what is inside. Raises IntakeError: a path that does not exist or
    can't be read, an unknown source, a roster that can't be read, or nothing that could be a submission.
    """
    if source not in SOURCES:
        raise IntakeError(f"There is no source {source!r}. There is: {', '.join(SOURCES)}.")
    if not paths:
        raise IntakeError("No path was given. Give a file, a folder or a zip of submissions.")
    wanted = Wanted.of(settings)
    known = Roster([]) if roster is None else read_roster(roster)
    inputs = [open_input(path) for path in paths]
    drafts: list[Draft] = []
    junk: list[str] = []
    explained: list[Explained] = []
    understood: list[str] = []
    for opened in inputs:
        collected, title = _collect(opened, wanted, known, source, alone=len(inputs) == 1)
        understood.append(f"{opened.shown}: {title}" if title else f"{opened.shown}: nothing to grade")
        drafts += collected.drafts
        junk += _junk(opened)
        explained += _explained(opened, collected)
    if not drafts:
        raise IntakeError(_nothing(paths, inputs, wanted, explained))
    for draft in drafts:
        if not draft.problem and not any(wanted.could_be_work(file.path) for file in draft.files):
            draft.problem = wanted.nothing_usable([file.path for file in draft.files])
    return Intake(_entries(drafts, known), junk, explained, understood, wanted, inputs)


def _collect(opened: Input, wanted: Wanted, known: Roster, source: str, alone: bool) -> tuple[Collected, str]:
    """The submissions of one input, and what it was taken for."""
    if opened.file:
        item = opened.root.files[0]
        if opened.problem and alone:
            raise IntakeError(opened.problem)
        if not wanted.could_be_work(item.name):
            return Collected(explained=[(item, f"It is not a {wanted.endings} file.")]), ""
        draft = of_file(item)
        draft.problem = opened.problem
        if not alone and wanted.asked_for(item.name) and opened.root.name:
            draft.label = opened.root.name  # ada/attention.py and bob/attention.py
            draft.people = [person_of(draft.label)]
        return Collected([draft]), "one file"
    form, level = _form(opened.root, wanted, source)
    if form is None or level is None:
        return Collected(), ""
    return form.collect(level, wanted, known), form.title


def _form(root: Folder, wanted: Wanted, source: str) -> tuple[Format | None, Folder | None]:
    for form in FORMATS:
        if source in ("auto", form.name):
            level = form.recognise(root, wanted)
            if level is not None:
                return form, level
            if source == form.name:
                return form, root
    return None, None


def _explained(opened: Input, collected: Collected) -> Iterator[Explained]:
    """All files of the input that no draft has, and all that was refused."""
    why = {id(item): reason for item, reason in collected.explained}
    taken = {id(file.item) for draft in collected.drafts for file in draft.files}
    for item in opened.root.items():
        if id(item) not in taken:
            yield Explained(f"{opened.shown}/{item.path}", why.get(id(item), _BESIDE))
    for folder in opened.root.everything():
        for refused in folder.refused:
            yield Explained(f"{opened.shown}/{refused.path}", refused.why)


def _junk(opened: Input) -> Iterator[str]:
    for folder in opened.root.everything():
        for name in folder.junk:
            yield f"{opened.shown}/{folder.path}/{name}" if folder.path else f"{opened.shown}/{name}"


def _nothing(paths: Sequence[Path], inputs: list[Input], wanted: Wanted, explained: list[Explained]) -> str:
    where = listed([str(path) for path in paths])
    if not any(True for opened in inputs for _ in opened.root.items()):
        return f"{where} is empty: there is no file in it. Give the folder or zip that holds the submissions."
    found = listed([entry.path for entry in explained])
    return (
        f"Nothing in {where} could be a submission: there is no {wanted.endings} file and no zip. There is: {found}. "
        "Give the folder or zip that holds the submissions, or change “accepts” in assignment.toml."
    )


def _entries(drafts: list[Draft], known: Roster) -> list[Entry]:
    ids = Ids()
    entries: list[Entry] = []
    present: set[str] = set()
    for draft in drafts:
        label = join(draft, known)
        present |= {person.id for person in draft.people}
        entries.append(
            Entry(
                id=ids.give(path_within([label])),
                people=tuple(draft.people),
                files=tuple(draft.files),
                submitted_at=draft.submitted_at,
                notes=tuple(draft.notes),
                problem=draft.problem,
            )
        )
    for person in known.people:
        if person.id not in present:
            problem = "Nothing was handed in. If you did hand something in, ask the staff whether it has arrived."
            entries.append(Entry(ids.give(person.id), (person,), (), problem=problem, missing=True))
    return entries
