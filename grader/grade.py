"""`grader grade`: from paths to a run directory, with a progress bar and a table at the end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from grader import assignment as assignments
from grader import batch, clean_start, intake, sample_class, secret
from grader.assignment import SAMPLE_CLASS
from grader.batch import Outcome, Plan
from grader.errors import GraderFault, ReadError, SampleClassError, UsageError
from grader.grades import Grade
from grader.reporting import Circumstances
from grader.rules import policy as policies
from grader.rules.policy import ADJUST, EXTENSIONS, policy
from grader.run_directory import RESULTS, RunDirectory
from grader.text import clean, for_terminal
from grader.where import Kept, Where, at_home, on_cluster

SHOWN = 60
PIPED = 160
"""Columns of what is printed where there is no terminal."""


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C, at whatever moment, is one message and a status that says that not all is done."""
    try:
        yield
    except KeyboardInterrupt:
        raise GraderFault("Stopped. Everything finished is kept; the same command goes on.") from None


@_stoppable()
def grade(
    root: Path,
    assignment: str,
    paths: tuple[Path, ...],
    *,
    out: Path | None = None,
    jobs: int | None = None,
    device: Literal["auto", "cpu", "gpu"] = "auto",
    source: str = "auto",
    roster: Path | None = None,
    extensions: Path | None = None,
    adjust: Path | None = None,
    fresh: bool = False,
    require_level: str = "B",
    insecure: bool = False,
    cluster: str = "",
) -> None:
    """Grade and print what came of it.

    Raises UsageError for wrong use, ReadError for what this machine can't read, GraderFault when a check of ours broke,
    SampleClassError when the sample class did not get what is listed for it.
    """
    console = _console()
    loaded = assignments.load(assignment, root)
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist. Give the folder, file or zip with the submissions.")
    place = RunDirectory(out or root / "runs" / assignment)
    _refuse_within(paths, loaded.staff, "the assignment's own solution lies in it")
    _refuse_within(paths, place.path, "the results are written into it, and would be taken for somebody's work")

    def keep() -> Kept:
        key = secret.course_secret(root, clean_start.given_secret())
        return Kept(key, policy(loaded, extensions or place.own(EXTENSIONS), adjust or place.own(ADJUST)))

    floor = "C" if insecure else require_level
    with (
        on_cluster(cluster, loaded, device, floor, keep, root / "templates")
        if cluster
        else at_home(loaded, device, floor, keep)
    ) as where:
        # Only from here on: nothing of the students or of the staff was in memory when the zygote split off.
        taken = intake.scan(paths, loaded.settings, source=source, roster=roster)
        for line in policies.notes(where.kept.policy, taken.entries):
            console.print(escape(line), soft_wrap=True)
        plan = Plan(
            assignment=loaded,
            intake=taken,
            out=place,
            circumstances=Circumstances(where.kept.secret, where.level, where.device),
            jobs=min(jobs or where.jobs, max(1, len(taken.entries))),
            real_device=where.real_device,
            torch=where.torch,
            layers=where.layers,
            source=source,
            roster=str(roster.resolve()) if roster else "",
            policy=where.kept.policy,
            fresh=fresh,
            template_dirs=tuple(
                folder for folder in (loaded.staff / "templates", root / "templates") if folder.is_dir()
            ),
        )
        outcome = _with_progress(plan, where, console)
    _show(console, plan, outcome)
    broken = [one for one in outcome.grades if one.status == "error"]
    if outcome.faults or broken:
        raise GraderFault(
            "The grader itself failed on: "
            + "; ".join(
                [
                    *outcome.faults,
                    *(f"{one.submission} (a check broke)" for one in broken),
                    *outcome.unread,
                ][:10]
            )
            + (f"\nTo see how checks broke: grader feedback {place.path} --for staff" if broken else "")
        )
    if outcome.unread:
        raise ReadError(
            f"Not graded, because this machine can't read it: {'; '.join(outcome.unread[:10])} "
            "All others are graded. Once that is mended, the same command goes on."
        )
    if [path.resolve() for path in paths] == [(loaded.staff / sample_class.FOLDER).resolve()]:
        _beside_the_list(console, plan, outcome)


def _beside_the_list(console: Console, plan: Plan, outcome: Outcome) -> None:
    """Compare the assignment's sample class with what is listed for it. Raises SampleClassError on a difference."""
    path = plan.assignment.staff / SAMPLE_CLASS
    if not path.is_file() or plan.circumstances.device == "none":
        why = "it lists marks with the GPU checks, which were left out" if path.is_file() else "there is no such file"
        console.print(f"Not compared with {path}: {why}.", soft_wrap=True, markup=False)
        return
    listed = sample_class.read(plan.assignment)
    found = sample_class.differences(listed, (plan.out.read(one.submission) for one in outcome.grades))
    for name, lines in found.items():
        console.print(f"Not as listed: {name}: {'; '.join(lines)}", soft_wrap=True, markup=False)
    if found:
        raise SampleClassError(
            f"Other results than {path} lists, for {len(found)} of {len(listed)}. A surprise is a mistake in the list "
            "or in a check: find out which, and mend it."
        )
    console.print(f"Each of the {len(listed)} got what {path} lists.", soft_wrap=True, markup=False)


def _refuse_within(paths: tuple[Path, ...], inner: Path, why: str) -> None:
    """Raises UsageError when a folder of submissions holds what is no submission."""
    for path in paths:
        if path.is_dir() and inner.resolve().is_relative_to(path.resolve()):
            raise UsageError(
                f"{path} can't be the folder of submissions, because {why}: {inner}. Give a folder that holds nothing "
                "but submissions."
            )


def _console() -> Console:
    """The terminal; for a file or another program wide enough that most students stay on one line."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=PIPED if piped else None)


def _with_progress(plan: Plan, where: Where, console: Console) -> Outcome:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[name]}"),
        TimeRemainingColumn(),
    )
    # No refreshing thread: main forks markers, and a fork is only safe with a single thread.
    with Progress(*columns, console=console, auto_refresh=False, transient=True) as progress:
        task = progress.add_task("Grading", total=len(plan.intake.entries), name="")

        def show(one: Grade | None) -> None:
            progress.update(task, advance=1, name=clean(one.name, 40) if one else "", refresh=True)

        return batch.grade(plan, where.markers(plan), show)


def _show(console: Console, plan: Plan, outcome: Outcome) -> None:
    """The class as a table, what intake left aside, and where the reports are."""
    table = Table(box=None, header_style="bold")
    table.add_column("student", max_width=30, no_wrap=True)
    table.add_column("score", justify="right")
    wide = console.width >= PIPED  # room for a line a student; `grades.csv` has all of a reason that is cut
    table.add_column("not passed", max_width=44, no_wrap=wide)
    table.add_column("likeliest reason", ratio=1, no_wrap=wide)
    for one in outcome.grades[:SHOWN]:
        failed = ", ".join(one.failed[:2]) + (f" and {len(one.failed) - 2} more" if len(one.failed) > 2 else "")
        table.add_row(
            escape(for_terminal(one.name, 80)),
            f"{one.score:g}/{one.max_score:g}",
            escape(failed),
            escape(for_terminal(one.reason, 70 if wide else 120)),
        )
    console.print(table)
    if len(outcome.grades) > SHOWN:
        console.print(f"... and {len(outcome.grades) - SHOWN} more.")
    for item in plan.intake.explained:
        console.print(f"Not graded: {escape(for_terminal(item.path, 200))}: {escape(for_terminal(item.why, 300))}")
    if plan.intake.junk:
        console.print(f"Ignored as junk: {escape(for_terminal(', '.join(plan.intake.junk), 300))}")
    known = {entry.id for entry in plan.intake.entries}
    others = [one for one in plan.out.submissions() if one not in known]
    if others:
        shown = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        console.print(
            f"Also in {plan.out.path / RESULTS}, from an earlier run: {for_terminal(shown, 300)}. grades.csv does not "
            "have them, but feedback and export do. Delete them if they do not belong to this class.",
            soft_wrap=True,
            markup=False,
        )
    console.print(
        f"{_counted(outcome)} (sandbox level {plan.circumstances.level}, "
        f"GPU checks: {plan.circumstances.device}). Class page: {plan.out.path / 'index.html'}, "
        f"reports: {plan.out.path / 'feedback'}, grades: {plan.out.path / 'grades.csv'}",
        soft_wrap=True,
    )


def _counted(outcome: Outcome) -> str:
    """How many results there are, and how many of them are new."""
    missing = sum(one.status == "missing" for one in outcome.grades)
    count = len(outcome.grades) - missing
    words = f"{count} submission{'' if count == 1 else 's'}"
    nothing = f"; {missing} handed nothing in" if missing else ""
    if not outcome.kept:
        return f"{words} graded{nothing}"
    changed = f", {outcome.adjusted} of them with other names, times or adjustments" if outcome.adjusted else ""
    return f"{words}: {count - outcome.kept} graded now, {outcome.kept} kept from before{changed}{nothing}"
