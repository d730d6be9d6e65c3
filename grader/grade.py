"""`grader grade`: from paths to a run directory, with a progress bar and a table at the end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from grader import assignment as assignments
from grader import batch, clean_start, intake, secret
from grader.batch import Outcome, Plan
from grader.dashboard import Row
from grader.errors import GraderFault, UsageError
from grader.ground import Ground, ground
from grader.marker import Circumstances
from grader.run_directory import RunDirectory
from grader.text import clean

SHOWN = 60


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
    fresh: bool = False,
    require_level: str = "B",
    insecure: bool = False,
) -> None:
    """Grade and print what came of it. Raises UsageError for wrong use, GraderFault when a check of ours broke."""
    console = Console()
    loaded = assignments.load(assignment, root)
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist. Give the folder, file or zip with the submissions.")
    with ground(loaded, device) as base:
        refuse_below(base, "C" if insecure else require_level)
        # Only from here on: nothing of the students or of the staff was in memory when the zygote split off.
        taken = intake.scan(paths, loaded.settings, source=source, roster=roster)
        plan = Plan(
            assignment=loaded,
            intake=taken,
            out=RunDirectory(out or root / "runs" / assignment),
            circumstances=Circumstances(
                secret.course_secret(root, clean_start.given_secret()), base.canary.level, base.device
            ),
            jobs=min(jobs or len(os.sched_getaffinity(0)), max(1, len(taken.entries))),
            fresh=fresh,
            template_dirs=tuple(
                folder for folder in (loaded.staff / "templates", root / "templates") if folder.is_dir()
            ),
        )
        try:
            outcome = _with_progress(plan, base, console)
        except KeyboardInterrupt:
            raise GraderFault("Stopped. Everything finished is kept; the same command goes on.") from None
    _show(console, plan, outcome)
    broken = [row for row in outcome.rows if row.status == "error"]
    if outcome.faults or broken:
        raise GraderFault(
            "The grader itself failed on: "
            + "; ".join([*outcome.faults, *(f"{row.id} (a check broke; see its result)" for row in broken)][:10])
        )


def refuse_below(base: Ground, floor: str) -> None:
    """Raise UsageError when this machine confines less well than `floor` ("A" is the best level, "C" the least)."""
    if base.canary.level > floor:
        raise UsageError(
            f"Student code can only be confined at level {base.canary.level} here, and level {floor} is asked for. "
            "`grader doctor` says what is missing and how to get it; --insecure grades all the same."
        )


def _with_progress(plan: Plan, base: Ground, console: Console) -> Outcome:
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

        def show(row: Row | None) -> None:
            progress.update(task, advance=1, name=clean(row.name, 40) if row else "", refresh=True)

        return batch.grade(plan, base.root, show)
