"""`grader export`: the grades of a run as a sheet for a learning system, or written into one that was downloaded.

Editing a sheet changes its grade (and feedback) cells and no other byte. Nobody is guessed: who is not found by an id
is listed.
"""

from __future__ import annotations

import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import escape
from rich.console import Console
from rich.markup import escape as plain

from grader import grades
from grader.errors import UsageError
from grader.pages.summary import Phase, number, summary
from grader.pages.words import Words, load_words
from grader.results import Person, Report
from grader.run_directory import RunDirectory, write
from grader.sheets import sheet
from grader.sheets.gradebook import Gradebook, Kind, understand
from grader.sheets.sheet import Row, Sheet
from grader.text import clean, for_terminal

UNTOUCHED = ("ex", "n/a")
"""Canvas's words for somebody who is excused, or whose assignment this is not."""
UNREAD = "what was handed in can't be read, so the 0 is not certain; look at it, and write the mark by hand"
_SHOWN = 50


@dataclass
class Written:
    """What came of writing a run into a sheet."""

    changed: int = 0
    unchanged: int = 0
    unmatched: list[str] = field(default_factory=list)
    """Of the run: nobody in the sheet has their ids, or several have."""
    left: list[str] = field(default_factory=list)
    """Of the sheet or the run: left as they were, each with the reason."""
    without: list[str] = field(default_factory=list)
    """People of the sheet of whom the run has nothing."""


@dataclass(frozen=True)
class Manner:
    """How grades are to be written."""

    scale: bool | None = None
    """True: to the sheet's own maximum; False: as they are; None: refuse when the two differ."""
    decimal: str = ""
    """Decimal sign; "" takes that of the sheet's numbers."""
    missing: bool = False
    """Whether those who handed nothing in get their 0."""
    feedback: bool = True
    phase: Phase = "published"


def export(
    run: Path,
    kind: Kind,
    *,
    into: Path | None = None,
    output: Path | None = None,
    column: str = "",
    headings: tuple[str, ...] = (),
    encoding: str = "",
    manner: Manner | None = None,
) -> None:
    """Write the sheet and tell what was written and who was not found.

    Raises UsageError: no run directory, a sheet that can't be understood, another maximum, a disk that refuses.
    """
    directory = RunDirectory(run)
    info = directory.info()
    manner = manner or Manner()
    console = Console(stderr=output is None and into is None, highlight=False)
    if into is None:
        reports = [one for one in directory.reports() if manner.missing or not one.absent]
        unread = [one for one in reports if _unread(one)]
        reports = [one for one in reports if not _unread(one)]
        data = fresh(kind, column or info.title, reports, manner).encode()
        if output is None:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
        else:
            write(output, data)
            console.print(plain(f"{len(reports)} submissions written to {output}."), soft_wrap=True)
        _list(console, "Left out", [f"{one.submission.id}: {UNREAD}" for one in unread])
        return
    named = dict(_heading(text) for text in headings)
    book = understand(_read(into, encoding), kind, title=info.title, column=column, headings=named)
    told = fill(book, list(directory.reports()), manner, load_words())
    if book.sheet.changed or output is not None:
        _replace(output or into, book.sheet.bytes(), like=into)
    _tell(console, told, output or into)


def fill(book: Gradebook, reports: list[Report], manner: Manner, words: Words) -> Written:
    """Write the reports into the rows of their people. Raises UsageError when the sheet's maximum is another one."""
    told = Written()
    decimal = manner.decimal or book.decimal
    owners: dict[int, list[tuple[Person, Report]]] = {}
    for report in reports:
        for person in report.submission.people or [Person(id=report.submission.id)]:
            rows = book.find(person)
            if len(rows) == 1:
                owners.setdefault(rows[0].number, []).append((person, report))
            elif manner.missing or not report.absent:
                told.unmatched.append(_who(person) + (": several rows have these ids" if rows else ""))
    for row in book.rows:
        claims = owners.get(row.number)
        if claims is None:
            if ids := book.ids(row):
                names = [value.strip() for value in row.values[:2] if value.strip()]  # where every system has them
                told.without.append(clean(" · ".join(dict.fromkeys([*names, *ids])), 200))
            continue
        why = _why_not(book, row, [report for _, report in claims], manner)
        if why:
            told.left.append(f"{_who(claims[0][0])}: {why}")
            continue
        if _write(book, row, claims[0][1], decimal, manner, words):
            told.changed += 1
        else:
            told.unchanged += 1
    return told


def _why_not(book: Gradebook, row: Row, reports: list[Report], manner: Manner) -> str:
    """Why the row stays as it is; "" when it is to be written."""
    if len(reports) > 1:
        return f"there are {len(reports)} submissions: {', '.join(one.submission.id for one in reports)}"
    report = reports[0]
    if report.status == "error":
        return "the grader itself failed on a check, so the score is not certain; grade again"
    if report.absent and not manner.missing:
        return "nothing was handed in (--missing writes the 0)"
    if _unread(report):
        return UNREAD
    if row.value(book.columns.grade).strip().casefold() in UNTOUCHED:
        return f"the sheet says {row.value(book.columns.grade).strip()}"
    return ""


def _unread(report: Report) -> bool:
    """Whether work came of which no file could be read, and staff have not decided about it yet."""
    decided = any(change.kind == "manual" for change in report.adjustments)
    return not report.submission.files and not report.absent and not decided


def _write(book: Gradebook, row: Row, report: Report, decimal: str, manner: Manner, words: Words) -> bool:
    score, there = report.score, book.maximum(row)
    if there is not None and abs(there - report.max_score) > 1e-6:
        if manner.scale is None:
            raise UsageError(
                f"{book.sheet.name}: its maximum is {number(there)} points, this run's is {number(report.max_score)}. "
                "Use --scale to bring the scores to its maximum, or --no-scale to write them as they are."
            )
        if manner.scale and report.max_score:
            score = score / report.max_score * there
    text = number(score)
    changed = False
    if not _same_number(row.value(book.columns.grade), text):
        changed = book.sheet.set(row, book.columns.grade, text.replace(".", decimal))
    if book.columns.feedback is not None and manner.feedback:
        html = book.kind == "moodle"
        said = comment(report, words, phase=manner.phase, html=html)
        changed |= book.sheet.set(row, book.columns.feedback, said)
    return changed


def comment(report: Report, words: Words, *, phase: Phase, html: bool) -> str:
    """The report in a few lines, for a cell: the score, what is right, what to mend first, what changed the score."""
    short = summary(report, words, audience="student", phase=phase)
    lines = [words["score_of"].format(score=short.score, max_score=short.max_score), short.right, short.note]
    if short.fix is not None:
        lines += [short.fix.title, short.fix.text, short.fix.hint]
    for change in report.adjustments:
        lines.append(f"{words[f'adjustment_{change.kind}']} ({change.points:+g}): {change.reason}")
    kept = [clean(line, 1000).strip() for line in lines if line.strip()]
    if html:
        return "<br>".join(str(escape(line)).replace("\n", "<br>") for line in kept)
    return sheet.harmless("\n".join(kept))


def fresh(kind: Kind, title: str, reports: list[Report], manner: Manner) -> str:
    """A sheet of its own: what Canvas's and Moodle's grade imports take, or `grades.csv` with another name."""
    if kind == "csv":
        return grades.sheet(grades.grade(report) for report in reports)
    graded = [one for one in reports if one.status == "graded"]
    people = [(person, report) for report in graded for person in report.submission.people]
    worth = number(graded[0].max_score) if graded else ""
    if kind == "canvas":
        rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]]
        rows.append(["    Points Possible", "", "", "", "", worth])
        for person, report in people:
            own = "" if person.id == person.lms_id else person.id
            login = person.email
            rows.append([person.name or person.id, person.lms_id, own, login, person.section, number(report.score)])
    else:
        words = load_words()
        rows = [["ID number", "Full name", "Email address", title, f"{title} (feedback)"]]
        for person, report in people:
            said = comment(report, words, phase=manner.phase, html=True)
            score = number(report.score).replace(".", manner.decimal or ".")
            rows.append([person.id, person.name, person.email, score, said])
    return "".join(",".join(_cell(text) for text in row) + "\n" for row in rows)


def _cell(text: str) -> str:
    safe = sheet.harmless(text)
    return '"' + safe.replace('"', '""') + '"' if any(sign in safe for sign in ',"\r\n') else safe


def _same_number(old: str, new: str) -> bool:
    try:
        return abs(float(old.strip().replace(",", ".")) - float(new)) < 0.005
    except ValueError:
        return False


def _who(person: Person) -> str:
    return clean(" · ".join(part for part in (person.name, person.id, person.email) if part), 200)


def _heading(text: str) -> tuple[str, str]:
    key, sign, name = text.partition("=")
    if not sign or not name.strip():
        raise UsageError(f"--heading {text}: write KEY=NAME, as in --heading grade=Bewertung.")
    return key.strip(), name.strip()


def _read(path: Path, encoding: str) -> Sheet:
    try:
        return sheet.read(str(path), path.read_bytes(), encoding)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}. Check the path.") from None


def _replace(path: Path, data: bytes, *, like: Path) -> None:
    """Write the file in one step, with the permissions of `like`; a link stays a link."""
    mode = stat.S_IMODE(like.stat().st_mode)
    real = path.resolve()
    write(real, data)
    real.chmod(mode)


def _tell(console: Console, told: Written, path: Path) -> None:
    console.print(plain(f"{path}: rows changed: {told.changed}, right already: {told.unchanged}"), soft_wrap=True)
    for title, lines in (
        ("Not in the sheet, so not written", told.unmatched),
        ("Left as it was", told.left),
        ("In the sheet, but not in this run, so left as it was", told.without),
    ):
        _list(console, title, lines)


def _list(console: Console, title: str, lines: list[str]) -> None:
    for line in lines[:_SHOWN]:
        console.print(plain(f"{title}: {for_terminal(line, 300)}"), soft_wrap=True)
    if len(lines) > _SHOWN:
        console.print(f"... and {len(lines) - _SHOWN} more.")
