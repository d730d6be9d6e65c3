"""CPU and wall seconds of whole commands, their descendants included, and a line for each figure."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
GRADER = (sys.executable, "-m", "grader")
IMPORT_TORCH = (sys.executable, "-c", "import torch")


@dataclass(frozen=True)
class Cost:
    """What one command cost."""

    cpu: float
    wall: float


def cost(command: Sequence[str], *, repeats: int = 1, core: int | None = None) -> Cost:
    """Median CPU and wall seconds of the command. Raises CalledProcessError when it fails.

    `core` pins it to one processor. Everything that it starts counts, as long as it is waited for.
    """
    costs: list[Cost] = []
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for _ in range(repeats):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [*(["taskset", "-c", str(core)] if core is not None else []), *command],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=ROOT,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        costs.append(Cost(cpu, time.perf_counter() - started))
    return Cost(median(one.cpu for one in costs), median(one.wall for one in costs))


def cpu_seconds(pid: int) -> float:
    """User and system time of a living process and of its children that have ended; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def copies(folder: Path, source: str, count: int) -> None:
    """`count` submissions of the same code."""
    handed_in(folder, numbered(source, count))


def numbered(source: str, count: int) -> list[str]:
    """The same code `count` times, each with a comment of its own, so that each has its own digest."""
    return [f"{source}\n# {number}\n" for number in range(count)]


def handed_in(folder: Path, sources: Sequence[str]) -> None:
    """A submission of each of these codes."""
    for number, source in enumerate(sources):
        one = folder / f"student{number:05d}"
        one.mkdir(parents=True)
        (one / "attention.py").write_text(source, encoding="utf-8")


def grade(folder: Path, *, jobs: int = 1) -> tuple[str, ...]:
    """The command that grades a folder into a fresh run directory beside it, which goes where the folder goes."""
    out = tempfile.mkdtemp(prefix="bench-run-", dir=folder.parent)
    return (*GRADER, "grade", "attention", str(folder), "--out", out, "--jobs", str(jobs), "--fresh")


def own_numbers(source: str, count: int) -> list[str]:
    """The right answer in `count` ways that round differently: softmax does not change when all scores are moved."""
    plain = "torch.softmax(scores, dim=-1)"
    if plain not in source:
        raise RuntimeError("The reference is written in another way: bench/measure.py must find its softmax again.")
    return [source.replace(plain, f"torch.softmax(scores + {number}e-4, dim=-1)") for number in range(count)]


def right_answer() -> str:
    """A right submission: the reference as a student would hand it in."""
    from grader.authoring.master import reference_source

    return reference_source(ROOT / "solutions" / "attention" / "attention.py")


def say(what: str, figure: str, goal: str = "") -> None:
    """One line of the table."""
    print(f"{what:<64} {figure:>14}  {goal}", flush=True)


def machine() -> str:
    """The machine in words."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
