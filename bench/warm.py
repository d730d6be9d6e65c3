"""What one more submission costs in a running batch, beside its floor: fork, confine, load, and the raw calls."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.measure import ROOT, cost, cpu_seconds, grade, handed_in, machine, numbered, own_numbers, right_answer, say
from grader import assignment as assignments
from grader import staff
from grader.batch import MANY
from grader.call import Call, Invocation
from grader.ground import ground
from grader.marker import Marker
from grader.pages.render import Renderer
from grader.reading import source
from grader.reading.source import Sources
from grader.reporting import Circumstances
from grader.results import Report
from grader.sandbox.confined import ConfinedSandbox, ConfinedSession
from grader.sandbox.zygote import Zygote
from grader.submission import SourceFile, Submission

COUNT = 200
PARTS = 40
"""Submissions for each of the parts."""


@dataclass(frozen=True)
class Parts:
    """CPU milliseconds a submission."""

    floor: float
    bare_fork: float
    confined_fork: float
    rendering: float


class Recording(ConfinedSandbox):
    """Keeps every request, to make the same calls again without any check."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.made: list[Sequence[Invocation]] = []

    def open(self, sources: Sources, *, whole: bool = False) -> ConfinedSession:
        session = super().open(sources, whole=whole)
        make = session.calls

        def made(asked: Sequence[Invocation]) -> list[Call]:
            if asked:
                self.made.append(asked)
            return make(asked)

        session.calls = made  # type: ignore[method-assign]
        return session


def main() -> None:
    """Print the figures of this run."""
    print(f"\nOne more submission in a warm batch on one core, CPU ms ({machine()})")
    with tempfile.TemporaryDirectory() as name:
        same = one_more(Path(name) / "same", numbered(right_answer(), MANY + COUNT))
        new = one_more(Path(name) / "new", own_numbers(right_answer(), MANY + COUNT))
    parts = measure_parts()
    say("everything: all checks, confinement, diagnosis, reports", f"{same:.1f}", "goal: at most 60")
    say("the same for numbers that nobody in the class had before", f"{new:.1f}")
    say("its floor: fork, confine, load, the raw calls", f"{parts.floor:.1f}")
    say("ratio to the floor", f"{same / parts.floor:.2f}", "goal: at most 3")
    say(
        "confinement: a confined child over a bare fork",
        f"{parts.confined_fork - parts.bare_fork:.1f}",
        "goal: at most 8",
    )
    say("rendering, both formats", f"{parts.rendering:.1f}", "goal: at most 10")


def one_more(folder: Path, sources: list[str]) -> float:
    """CPU ms of one more submission, with these in the class."""
    handed_in(folder / "few", sources[:MANY])
    handed_in(folder / "many", sources)
    return (cost(grade(folder / "many"), core=0).cpu - cost(grade(folder / "few"), core=0).cpu) / COUNT * 1e3


def measure_parts() -> Parts:
    """The same work in this process, part by part."""
    assignment = assignments.load("attention", ROOT)
    work = [
        Submission(id=f"s{number}", files=[SourceFile("attention.py", code.encode())])
        for number, code in enumerate(numbered(right_answer(), PARTS))
    ]
    with ground(assignment, "auto") as base:
        base.root.settle()
        sandbox = Recording(base.root, assignment.settings)
        circumstances = Circumstances(b"the secret of a benchmark", "A", base.device)
        marker = Marker(assignment, staff.load(assignment), sandbox, circumstances)
        reports: list[Report] = []
        marker.run(work[:2], reports.append)
        made = sandbox.made[len(sandbox.made) // 2 :]
        plain = ConfinedSandbox(base.root, assignment.settings)
        bare = ConfinedSandbox(base.root, assignment.settings, layers=frozenset())
        sources = source.units(work[0].files, assignment.settings)
        renderer = Renderer()

        def floor() -> None:
            session = plain.open(sources)
            for asked in made:
                session.calls(asked)
            session.close()

        def render() -> None:
            renderer.html(reports[0], audience="student")
            renderer.markdown(reports[0], audience="student")

        render()
        each = lambda body: per_submission(body, base.root)  # noqa: E731
        with patch("grader.sandbox.confine.sweep"):  # only where seccomp is missing is there anything to look for
            bare_fork = each(lambda: bare.open(sources).close())
        return Parts(
            floor=each(floor),
            bare_fork=bare_fork,
            confined_fork=each(lambda: plain.open(sources).close()),
            rendering=each(render),
        )


def per_submission(body: Callable[[], None], zygote: Zygote) -> float:
    """CPU ms of one `body()`, in this process, the zygote and its children."""
    body()
    before, ours = cpu_seconds(zygote.pid), time.process_time()
    for _ in range(PARTS):
        body()
    return (time.process_time() - ours + cpu_seconds(zygote.pid) - before) / PARTS * 1e3


if __name__ == "__main__":
    main()
