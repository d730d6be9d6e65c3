"""A class: many submissions, markers side by side, results that land one by one and are never made twice."""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec
import torch

import grader
from grader import grades, intake, results
from grader.assignment import Assignment
from grader.earlier import Earlier
from grader.errors import GraderError, GraderFault, ReadError
from grader.grades import Grade
from grader.intake.names import visible
from grader.pages import dashboard
from grader.pages.render import Renderer
from grader.pool import Job, Pool
from grader.reporting import Circumstances
from grader.results import Report, RunInfo, SandboxInfo
from grader.run_directory import RunDirectory, write
from grader.sandbox.clock import MOST
from grader.sandbox.zygote import Zygote
from grader.serving import Service

MANY = 100
"""From so many submissions on, what makes each fork cheaper is worth its 0.3 s."""


class Done(msgspec.Struct, frozen=True):
    """What a marker tells main about one submission."""

    grade: Grade | None = None
    fault: str = ""
    """Our failure in words, when there is no grade."""
    exit_status: int = 0
    """Not 0: the whole run can't go on (a wrong configuration), with this status."""


@dataclass(frozen=True)
class Plan:
    """What to grade, where to put it, and how."""

    assignment: Assignment
    intake: intake.Intake
    out: RunDirectory
    circumstances: Circumstances
    jobs: int
    real_device: bool = False
    torch: str = str(torch.__version__)
    """The version that marks."""
    layers: tuple[str, ...] = ()
    source: str = "auto"
    roster: str = ""
    policy: Callable[[Report], Report] = lambda report: report
    """What happens to a report after the checks: lateness, attempts, adjustments by staff. Returns the very report
    when it changes nothing."""
    fresh: bool = False
    template_dirs: tuple[Path, ...] = ()


@dataclass
class Outcome:
    """How a run went, for the command line."""

    grades: list[Grade] = field(default_factory=list)
    kept: int = 0
    """Of those that handed something in, how many were not graded again."""
    adjusted: int = 0
    """How many of the kept were given another identity or other adjustments."""
    faults: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """What this machine could not read, each in a sentence."""


def grade(plan: Plan, markers: AbstractContextManager[Markers], progress: Callable[[Grade | None], None]) -> Outcome:
    """Grade everything that is not graded yet, then write the class's pages. `progress` hears of each submission.

    Raises UsageError for what the user can mend (a wrong assignment, a full disk), KeyboardInterrupt on Ctrl-C: in
    both cases what was finished is kept, and the same command goes on.
    """
    started = time.time()
    plan.out.create()
    with plan.out.locked():
        outcome = Outcome()
        ids = {entry.id for entry in plan.intake.entries}
        people = {person.id for entry in plan.intake.entries for person in entry.people}
        earlier = Earlier(plan.out, plan.assignment.digest(), plan.circumstances, plan.torch, ids, people, plan.fresh)
        with markers as pool:
            for key, answer in pool.map(_jobs(plan, earlier, outcome, progress)):
                told = Done(fault="The marker process died each time.") if answer is None else _decode(answer)
                if told.exit_status:
                    raise _as_error(told)
                if told.grade is None:
                    outcome.faults.append(f"{key}: {told.fault}")
                else:
                    outcome.grades.append(told.grade)
                progress(told.grade)
        earlier.clear()
        write_class(plan, outcome, started)
    return outcome


_decode = msgspec.msgpack.Decoder(Done).decode
_encode = msgspec.msgpack.encode


def _jobs(plan: Plan, earlier: Earlier, outcome: Outcome, progress: Callable[[Grade | None], None]) -> Iterator[Job]:
    """The submissions that must be graded, each read only now; the others are taken from before."""
    renderer: Renderer | None = None
    for entry in plan.intake.entries:
        try:
            submission = plan.intake.read(entry)
        except ReadError as refusal:
            outcome.unread.append(f"{entry.id}: {refusal}")
            progress(None)
            continue
        known = earlier.report(submission)
        if known is not None:
            old, stored = known
            final = plan.policy(old)
            if final is not old or not stored:  # another name, due date or decision: no student code runs for it
                renderer = renderer or Renderer(plan.template_dirs)
                store(plan.out, final, renderer)
                outcome.adjusted += not final.absent
            grade = grades.grade(final)
            outcome.grades.append(grade)
            outcome.kept += not final.absent
            progress(grade)
        else:
            yield Job(submission.id, _encode(submission))


class Markers(Protocol):
    """Marks submissions somewhere: here (`Pool`) or on a cluster."""

    def map(self, jobs: Iterable[Job]) -> Iterator[tuple[str, bytes | None]]:
        """(key, encoded Done) as each job is done and stored; None for one that could not be done."""


def here(plan: Plan, root: Zygote) -> Pool:
    """Markers on this machine; each stores what it has graded."""

    def answer(report: Report, renderer: Renderer) -> bytes:
        final = plan.policy(report)
        store(plan.out, final, renderer)
        return done(final)

    service = Service(
        plan.assignment, plan.circumstances, plan.real_device, plan.template_dirs, answer=answer, fault=stopped
    )
    if len(plan.intake.entries) >= MANY:
        root.settle()
    return Pool(plan.jobs, root, service, patience=patience(plan.assignment))


def done(report: Report) -> bytes:
    """An encoded Done of a report."""
    return _encode(Done(grade=grades.grade(report)))


def stopped(error: GraderError) -> bytes:
    """An encoded Done that ends the run."""
    return _encode(Done(fault=str(error), exit_status=error.exit_status))


def patience(assignment: Assignment) -> float:
    """Seconds after which a marker that has not answered is stuck."""
    return 2 * (1 + MOST) * assignment.settings.limits.total_seconds + 120


def store(out: RunDirectory, report: Report, renderer: Renderer) -> None:
    """The student's pages, then the result: a result that is there has its pages."""
    name = report.submission.id
    write(out.feedback(name, ".html"), renderer.html(report, audience="student"))
    write(out.feedback(name, ".md"), renderer.markdown(report, audience="student"))
    write(out.result(name), results.encode(report))


def write_class(plan: Plan, outcome: Outcome, started: float) -> None:
    """`grades.csv`, `index.html` and `run.json`, from the rows of the whole class."""
    came = sum(one.status != "missing" for one in outcome.grades)
    outcome.grades.sort(key=lambda one: one.submission)
    run = RunInfo(
        id=visible(plan.out.path.name),
        started=datetime.datetime.fromtimestamp(started, datetime.timezone.utc).isoformat(timespec="seconds"),
        seconds=round(time.time() - started, 1),
        assignment=plan.assignment.name,
        title=plan.assignment.settings.title,
        grader=grader.__version__,
        torch=plan.torch,
        python=platform.python_version(),
        seed_id=plan.circumstances.seed_id,
        sandbox=SandboxInfo(level=plan.circumstances.level, layers=list(plan.layers)),
        device=plan.circumstances.device,
        jobs=plan.jobs,
        source=plan.source,
        roster=visible(plan.roster),
        counts={"graded now": came - outcome.kept, "kept from before": outcome.kept},
    )
    write(plan.out.path / "grades.csv", grades.sheet(outcome.grades))
    write(
        plan.out.path / "index.html",
        dashboard.dashboard(_reports(plan, outcome), run, template_dirs=plan.template_dirs),
    )
    write(plan.out.path / "run.json", results.encode(run))


def _reports(plan: Plan, outcome: Outcome) -> Iterator[Report]:
    """The class's reports one by one, so that memory stays flat."""
    for one in outcome.grades:
        report = plan.out.load(one.submission)
        if report is not None:
            yield report


def _as_error(told: Done) -> GraderError:
    error = GraderFault(told.fault)
    error.exit_status = told.exit_status
    return error
