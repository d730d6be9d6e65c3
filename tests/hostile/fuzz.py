"""Generated hostile submissions: mutated bytes, mutated syntax trees, broken notebooks, random control flow.

    python -m tests.hostile.fuzz 1000 --seed 7

grades that many with the real checks of the attention assignment, and says for each way how they ended. Every one
must end with a result; a fault of the grader, a missing result or an overrun makes it exit with 1. Each is made from
(seed, number) alone, so `--only NUMBER` makes one again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader import arena, assignment, results, staff
from grader.assignment import Assignment, Limits
from grader.authoring.master import reference_source
from grader.marker import Marker
from grader.pages.render import Renderer
from grader.reporting import Circumstances
from grader.results import Report
from grader.sandbox.confined import ConfinedSandbox
from grader.sandbox.zygote import Zygote
from grader.submission import SourceFile, Submission
from tests.hostile.generate import WAYS, Draw, mutated_bytes

LIMITS = Limits(load_seconds=1, call_seconds=0.4, total_seconds=1.5, memory_mb=400, output_mb=1)
LONGEST_SECONDS = 20.0
"""For one submission, on a busy machine: its total, and the grader's own work."""
NAMES = ("attention.py", "attention.ipynb")


def course() -> Assignment:
    """The attention assignment with limits that a thousand hanging submissions can afford."""
    loaded = assignment.load("attention", arena.ROOT)
    return msgspec.structs.replace(loaded, settings=msgspec.structs.replace(loaded.settings, limits=LIMITS))


def submission(seed: int, number: int, base: str) -> Submission:
    draw = Draw(f"{seed}/{number}")
    way = list(WAYS)[number % len(WAYS)]
    name = NAMES[1] if way == "notebook" else NAMES[0]
    files = [SourceFile(name, WAYS[way](draw, base))]
    if draw.random() < 0.1:
        files.append(SourceFile("helper.py", mutated_bytes(draw, base)))
    return Submission(id=f"{way}-{number}", files=files)


def grade(root: Zygote, work: Iterator[Submission], course: Assignment) -> Iterator[tuple[str, Report, float]]:
    """(problem with the grader or "", report, seconds) for each; also that its pages can be made."""
    found: list[tuple[str, Report, float]] = []
    renderer = Renderer()
    started = time.monotonic()

    def deliver(report: Report) -> None:
        nonlocal started
        seconds = time.monotonic() - started
        found.append((_fault(report, renderer, seconds), report, seconds))
        started = time.monotonic()

    circumstances = Circumstances(secret=b"a secret of the fuzz", level="A", device="emulated")
    Marker(course, staff.load(course), ConfinedSandbox(root, course.settings), circumstances).run(work, deliver)
    yield from found


def _fault(report: Report, renderer: Renderer, seconds: float) -> str:
    if report.status != "graded":
        return "status error: " + "; ".join(check.detail[-300:] for check in report.checks if check.detail)[:600]
    if not 0 <= report.score <= report.max_score:
        return f"score {report.score} of {report.max_score}"
    if seconds > LONGEST_SECONDS:
        return f"took {seconds:.0f} seconds"
    try:
        assert results.decode(results.encode(report)) == report
        for audience in ("student", "staff"):
            renderer.html(report, audience=audience).encode()  # type: ignore[arg-type]
            renderer.markdown(report, audience=audience).encode()  # type: ignore[arg-type]
    except Exception as error:
        return f"its pages can't be made: {error!r}"
    return ""


def run(root: Zygote, count: int, seed: int, only: int | None = None) -> list[str]:
    """Grade that many generated submissions; what was wrong with the grader, a line each."""
    loaded = course()
    base = reference_source(Path(loaded.staff / f"{loaded.name}.py"))
    numbers = range(count) if only is None else [only]
    ends: Counter[str] = Counter()
    faults, seen = [], 0
    for fault, report, _ in grade(root, (submission(seed, number, base) for number in numbers), loaded):
        seen += 1
        way = report.submission.id.partition("-")[0]
        full = "full marks" if report.score == report.max_score else "no marks" if not report.score else "some marks"
        ends[f"{way:<9} {full}"] += 1
        if fault:
            faults.append(f"{report.submission.id} (seed {seed}): {fault}")
    if seen != len(numbers):
        faults.append(f"{len(numbers) - seen} submissions have no result")
    for end, number in sorted(ends.items()):
        print(f"{number:6} {end}")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description="Grade generated hostile submissions.")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    chosen = parser.parse_args()
    root = arena.start_zygote(assignment.load("attention", arena.ROOT).settings.from_scratch)
    faults = run(root, chosen.count, chosen.seed, chosen.only)
    root.close()
    print("\n".join(faults) or "No fault of the grader.")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
