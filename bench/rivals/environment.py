"""The other graders' own virtual environment: what is in it, and what a command there really costs."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.measure import ROOT, cost

VARIABLE = "BENCH_ENV"
PACKAGES = ("gradescope-utils", "nbgrader", "otter-grader", "ipykernel", "torch")
HOW = f"""\
They must not share the grader's environment: give them one of their own and name it in {VARIABLE}:
    python3 -m venv FOLDER
    FOLDER/bin/pip install torch==2.13.0 gradescope-utils==0.5.0 nbgrader==0.9.6 otter-grader==7.0.0 ipykernel
    {VARIABLE}=FOLDER python -m bench graders"""

_ASK = """
import importlib.metadata as metadata, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
_SET_CHILD_SUBREAPER = 36
_PATIENCE = 20.0


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and a home folder in which no setting of this machine's user counts."""

    folder: Path
    home: Path
    versions: dict[str, str]

    def command(self, where: Path, program: str, *arguments: str) -> tuple[str, ...]:
        """A program of the environment as a command to run in the folder `where`."""
        programs = self.folder / "bin"
        setting = (f"HOME={self.home}", f"PATH={programs}:{os.environ['PATH']}", f"VIRTUAL_ENV={self.folder}")
        return ("env", "-C", str(where), "-u", "PYTHONPATH", *setting, str(programs / program), *arguments)

    def run(self, where: Path, program: str, *arguments: str) -> None:
        """Run what is not measured. Raises CalledProcessError when it fails."""
        subprocess.run(
            self.command(where, program, *arguments), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )


def find(home: Path) -> Environment | None:
    """The environment that the variable names; None where it names none. Exits when there is no Python in it."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = ROOT / Path(named).expanduser()
    if not (folder / "bin" / "python").exists():
        sys.exit(f"{VARIABLE} names {folder}, but there is no bin/python in it.\n{HOW}")
    asked = subprocess.run([folder / "bin" / "python", "-c", _ASK, *PACKAGES], check=True, capture_output=True)
    return Environment(folder, home, json.loads(asked.stdout))


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Meanwhile a process whose parent has ended becomes a child of this one, so that its cost can be counted."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "This kernel can't hand orphaned processes over")
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def spent(command: tuple[str, ...]) -> float:
    """CPU seconds on core 0 of the command and all that it started, waited for or not; only while adopting orphans."""
    return cost(command, core=0).cpu + sum(_orphans())


def _orphans() -> list[float]:
    """The cost of each process that the last command left behind; what does not end by itself is ended."""
    costs: list[float] = []
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return costs
        if pid:
            costs.append(usage.ru_utime + usage.ru_stime)
            continue
        if time.monotonic() > deadline:
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split():
                os.kill(int(child), signal.SIGKILL)
        time.sleep(0.05)
