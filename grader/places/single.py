"""One submission under one deadline, for services that run us once for each: results survive whatever happens.

The main process supervises; a marker that it forks tells each result as soon as it is there. When the time is up, or
the marker dies each time, what was heard becomes a report in which the rest is our fault, never the student's.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from grader import intake, staff
from grader.assignment import Assignment, Settings
from grader.collect import Checks, collect
from grader.errors import GraderError, GraderFault, IntakeError, SandboxError, UsageError
from grader.ground import ground, refuse_below
from grader.marker import Marker
from grader.places import memory
from grader.places.processes import adopting
from grader.pool import TRIES, Channel
from grader.reporting import Circumstances
from grader.results import CheckResult, Report, total
from grader.sandbox import confine
from grader.sandbox.confined import ConfinedSandbox
from grader.sandbox.zygote import Zygote, close_all_but
from grader.submission import Submission

_OUT_OF_TIME = "The time of the whole run was over before this check ended."
_DIED = "The process that marks ended before this check did."
NOTHING = "Nothing that could be graded was handed in. Hand in {files}."


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a marker tells; exactly one of these."""

    blank: Report | None = None
    """First: every check without a result, so that the denominator is known."""
    result: CheckResult | None = None
    report: Report | None = None
    """Last: everything."""
    fault: str = ""
    """A wrong configuration of ours in words, ..."""
    exit_status: int = 1
    """... and the exit status that goes with it."""


@dataclass(frozen=True)
class Task:
    """What to mark, and the terms."""

    assignment: Assignment
    folder: Path
    """The submission: a folder with the student's files, however they were handed in."""
    secret: Callable[[], bytes]
    """Called once the zygote has split off."""
    deadline: float
    """By `time.monotonic()`: `mark` comes back before then, if only just."""
    identify: Callable[[Submission], Submission] = lambda submission: submission
    """Adds what the service knows about the people and the time."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    floor: str = "B"
    """Refuse below this sandbox level."""
    public: bool = False
    """Whether the public checks are meant: they need nothing of the staff half."""


_encode = msgspec.msgpack.encode
_decode = msgspec.msgpack.Decoder(Said).decode


def mark(task: Task) -> Report:
    """The report of the submission. All that the student's code started has ended when this returns.

    Raises UsageError for a wrong configuration, GraderFault when not even the checks could be listed in time.
    """
    with ground(task.assignment, task.device) as base, adopting():
        refuse_below(base, task.floor)
        submission = task.identify(read(task.folder, task.assignment))
        circumstances = Circumstances(task.secret(), base.canary.level, base.device)
        confine.shield()
        return _supervise(task, base.root, submission, circumstances, real=base.real)


def settings(assignment: Assignment) -> Settings:
    """The assignment's, with a limit of memory that this container can keep."""
    limits = assignment.settings.limits
    fits = msgspec.structs.replace(limits, memory_mb=memory.fitting(limits, memory.container_mb()))
    return msgspec.structs.replace(assignment.settings, limits=fits)


def read(folder: Path, assignment: Assignment) -> Submission:
    """The folder as one submission, whatever lies in it; an empty one says so to the student."""
    try:
        with intake.scan([folder], assignment.settings, source="one") as taken:
            return taken.read(taken.entries[0])
    except IntakeError:
        files = " or ".join(assignment.settings.files) or "your code"
        return Submission(id="submission", files=[], problem=NOTHING.format(files=files))


def _supervise(task: Task, root: Zygote, submission: Submission, circumstances: Circumstances, *, real: bool) -> Report:
    heard: dict[str, CheckResult] = {}
    blank: Report | None = None
    why = _OUT_OF_TIME
    for _ in range(TRIES):
        heard.clear()
        why = _DIED
        pid, channel = _start(task, root.fork_zygote(), submission, circumstances, real)
        try:
            for said in _listen(channel, task.deadline):
                if said.fault:
                    raise _as_error(said)
                if said.report is not None:
                    return said.report
                if said.result is not None:
                    heard[said.result.id] = said.result
                blank = said.blank or blank
        except TimeoutError:
            why = _OUT_OF_TIME
            break
        finally:
            channel.socket.close()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    if blank is None:
        raise GraderFault(why)
    return _partial(blank, heard, why)


def _listen(channel: Channel, deadline: float) -> Iterator[Said]:
    """What the marker says, until it ends. Raises TimeoutError at the deadline."""
    while True:
        channel.socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            message = channel.receive()
        except ConnectionError:
            return
        if message is None:
            return
        yield _decode(message)


def _partial(blank: Report, heard: dict[str, CheckResult], why: str) -> Report:
    """What was heard, and for the rest an error of ours."""
    checks = [
        heard.get(check.id) or msgspec.structs.replace(check, status="error", score=0.0, detail=why)
        for check in blank.checks
    ]
    status: Literal["graded", "error"] = "error" if any(check.status == "error" for check in checks) else "graded"
    return msgspec.structs.replace(blank, checks=checks, score=total(checks, []), status=status)


# --- the marker's process ---


def _start(
    task: Task, zygote: Zygote, submission: Submission, circumstances: Circumstances, real: bool
) -> tuple[int, Channel]:
    """A marker's process id, and our end of its channel."""
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    gc.freeze()  # what is there already stays shared with the fork
    pid = os.fork()
    if pid == 0:
        _be_marker(task, zygote, Channel(theirs), submission, circumstances, real)
    theirs.close()
    zygote.control.close()
    return pid, Channel(ours)


def _be_marker(
    task: Task, zygote: Zygote, channel: Channel, submission: Submission, circumstances: Circumstances, real: bool
) -> NoReturn:
    try:
        close_all_but(zygote.control.fileno(), channel.socket.fileno())
        _tell(task, ConfinedSandbox(zygote, settings(task.assignment), gpu=real), channel, submission, circumstances)
    except SandboxError as error:
        print(f"grader: the sandbox broke: {error}", flush=True)
    except GraderError as error:
        channel.send(_encode(Said(fault=str(error), exit_status=error.exit_status)))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(0)


def _tell(
    task: Task, sandbox: ConfinedSandbox, channel: Channel, submission: Submission, circumstances: Circumstances
) -> None:
    def say(said: Said) -> None:
        channel.send(_encode(said))

    known = staff.none() if task.public else staff.load(task.assignment)
    marker = Marker(task.assignment, known, sandbox, circumstances, lambda result: say(Said(result=result)))

    def work(checks: Checks) -> None:
        say(Said(blank=marker.reporter.broken(submission, checks.checks, GraderFault(_OUT_OF_TIME))))
        try:
            report = marker.mark(submission, checks)
        except GraderError:
            raise
        except Exception as error:
            report = marker.reporter.broken(submission, checks.checks, error)
        say(Said(report=report))

    path = task.assignment.public_checks if task.public else task.assignment.hidden_checks
    collect(path, Checks(known.in_double, work))


def _as_error(said: Said) -> GraderError:
    return UsageError(said.fault) if said.exit_status == UsageError.exit_status else GraderFault(said.fault)
