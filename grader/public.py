"""`grader check`: the public checks on a student's own machine. No confinement, and never the mark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from grader import assignment as assignments
from grader import opening
from grader.assignment import Assignment
from grader.call import Call
from grader.collect import Checks, collect
from grader.collected import GPU, Check, Ending
from grader.diagnosis import contract
from grader.diagnosis.contract import Verdict
from grader.errors import UsageError
from grader.reading import source
from grader.sandbox.interface import Session
from grader.sandbox.local import LocalSandbox
from grader.staff import no_reference
from grader.submission import SourceFile

Checked = tuple[Check, Ending]
MARKS = {"passed": "[green]passed[/]", "failed": "[red]not yet[/]", "skipped": "skipped", "error": "[red]error[/]"}
AS_ABOVE = "The same error as above."
INDENT = 11
"""Columns before what is said about a check: it stands below the title."""


def check(root: Path, name: str, file: Path | None) -> bool:
    """Run the public checks of the assignment on `file` (default: the starter's place) and print what they found.

    Returns whether all of them passed.
    """
    assignment = assignments.load(name, root)
    console = Console(highlight=False)
    path = file or _starter(assignment)
    if not path.is_file():
        raise UsageError(f"{path} is not a file. Give the file with your work: grader check {name} FILE")
    sources = source.units([SourceFile(path.name, path.read_bytes())], assignment.settings)
    if sources.problem:
        raise UsageError(f"{path}: {sources.problem.message}")
    for module, data in _beside(path, assignment.settings.limits.file_mb << 20):
        sources.files.setdefault(module, data)
    console.print(f"[bold]Public checks[/] of {escape(assignment.settings.title)} on {escape(str(path))}")

    def probe(session: Session) -> Verdict:
        return contract.probe(session.loaded, session.calls, assignment.settings.entry)

    def attempt(session: Session, verdict: Verdict) -> tuple[list[Checked], list[Call]]:
        return ([], []) if verdict.fatal else _run(assignment, session)

    with opening.tried(LocalSandbox(assignment.settings), sources, probe, attempt) as work:
        verdict, done = work.verdict, work.found
    if verdict.words:
        console.print(escape(verdict.words))
    told: set[str] = set()
    for one, ending in done:
        _print(console, one.title, ending, one.hint, told)
    passed = sum(ending.status == "passed" for _, ending in done)
    if not verdict.fatal:
        console.print(f"{passed} of {len(done)} public checks passed.")
    console.print("These are the [bold]public checks[/]. Your mark comes from other checks, which try much more.")
    return not verdict.fatal and passed == len(done)


def _beside(path: Path, most_bytes: int) -> Iterator[tuple[str, bytes]]:
    """The modules that lie beside the work, which it may import: they are handed in with it."""
    for other in sorted(path.parent.glob("*.py")):
        with contextlib.suppress(OSError):
            if other.name != path.name and other.stat().st_size <= most_bytes:
                yield other.name, other.read_bytes()


def _run(assignment: Assignment, session: Session) -> tuple[list[Checked], list[Call]]:
    """Every check that needs no accelerator, how it ended, and all calls."""
    done: list[Checked] = []
    calls: list[Call] = []

    def work(checks: Checks) -> None:
        for one in checks.checks:
            if one.device != GPU:
                done.append((one, checks.run(one, one.student(session, assignment.settings, calls))))

    collect(assignment.public_checks, Checks(no_reference, work))
    return done, calls


def _print(console: Console, title: str, ending: Ending, hint: str, told: set[str]) -> None:
    """One check: its title, and below it what is not right. An error message that is `told` already is not repeated."""
    console.print(f"  {MARKS[ending.status]}  {escape(title)}")
    if ending.failure is None:
        lines = [ending.detail]
    else:
        detail = ending.failure.detail
        case = f"{ending.failure.case}: " if ending.failure.case else ""
        lines = [case + ending.failure.message, ending.failure.hint or hint, AS_ABOVE if detail in told else detail]
        told.update([detail] if detail else [])
    for line in filter(None, lines):
        console.print(Padding(escape(line), (0, 0, 0, INDENT), expand=False))


def _starter(assignment: Assignment) -> Path:
    names = assignment.settings.files or [f"{assignment.name}.py"]
    here = [Path(name) for name in names if Path(name).is_file()]
    return here[0] if here else assignment.public / names[0]
