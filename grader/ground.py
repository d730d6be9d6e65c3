"""The first seconds of a run: import torch once, split off the clean zygote, and learn how well it confines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from grader import devices
from grader.assignment import Assignment
from grader.sandbox import canary, zygote
from grader.sandbox.child import StudentProcess
from grader.sandbox.zygote import Zygote


@dataclass(frozen=True)
class Ground:
    """What a run stands on: the root zygote, and what the canary found out about its confinement."""

    root: Zygote
    level: str
    device: str
    """"emulated", a real accelerator's description, or "none"."""
    gpu: bool


@contextmanager
def ground(assignment: Assignment, device: str) -> Iterator[Ground]:
    """Split off the zygote for this assignment. Nothing of `solutions/` or of a submission may have been read yet.

    `device`: "auto" takes a real accelerator if there is one and the emulated one else; "cpu" takes none.
    """
    found = devices.detect() if device == "auto" else None
    body = StudentProcess(
        from_scratch=assignment.settings.from_scratch,
        trains=assignment.settings.trains,
        accelerator_name=found.name if found else "emulated",
    )
    root = zygote.start(body.warm, body)
    try:
        yield Ground(root, canary.level(root), "none" if device == "cpu" else devices.describe(), found is not None)
    finally:
        root.close()
