"""Where the markers of a run are: on this machine, or on a cluster. Either way what staff keep secret is read only
when nothing that student code descends from can still inherit it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from grader import batch, devices
from grader.assignment import Assignment
from grader.batch import Markers, Plan
from grader.cluster import parcel
from grader.ground import ground, refuse_below
from grader.rules.policy import Policy


@dataclass(frozen=True)
class Kept:
    """What only staff may know."""

    secret: bytes
    policy: Policy


@dataclass(frozen=True)
class Where:
    """What a run stands on."""

    kept: Kept
    level: str
    layers: tuple[str, ...]
    device: str
    """What GPU checks run on: "emulated", a real accelerator's description, or "none"."""
    real_device: bool
    torch: str
    jobs: int
    """How many submissions can be marked at once."""
    markers: Callable[[Plan], AbstractContextManager[Markers]]


@contextmanager
def at_home(assignment: Assignment, device: str, floor: str, keep: Callable[[], Kept]) -> Iterator[Where]:
    """This machine. `keep` is called once the zygote has split off. Raises UsageError below the sandbox level floor."""
    with ground(assignment, device) as base:
        refuse_below(base, floor)
        yield Where(
            keep(),
            base.canary.level,
            base.canary.layers,
            base.device,
            base.real,
            str(torch.__version__),
            devices.cores(),
            lambda plan: batch.here(plan, base.root),
        )


@contextmanager
def on_cluster(
    address: str,
    assignment: Assignment,
    device: Literal["auto", "cpu", "gpu"],
    floor: str,
    keep: Callable[[], Kept],
    templates: Path,
) -> Iterator[Where]:
    """The workers of a Dask scheduler; this process forks nothing. "auto" means the emulated accelerator: a mark must
    not depend on which machine happened to have a real one. Raises UsageError as `cluster.connect` does."""
    from grader.cluster import connect as cluster

    kept = keep()
    package = parcel.pack(assignment, templates, kept.secret, kept.policy)
    wanted: parcel.Device = "emulated" if device == "auto" else device
    with cluster.connect(address, assignment, package, wanted, floor) as found:
        ready = found.ready
        yield Where(
            kept,
            ready.level,
            tuple(ready.layers),
            ready.device,
            device == "gpu",
            ready.torch,
            found.threads(),
            found.markers,
        )
