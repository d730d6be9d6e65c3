"""The first seconds of a run: import torch once, split off the clean zygote, and learn how well it confines."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
import torch

from grader import devices
from grader.assignment import Assignment
from grader.devices import Accelerator
from grader.errors import SandboxError, UsageError
from grader.sandbox import canary, wire, zygote
from grader.sandbox.child import StudentProcess
from grader.sandbox.zygote import Zygote

START_SECONDS = 60.0


@dataclass(frozen=True)
class Ground:
    """What a run stands on: the root zygote, and what the canary found out about its confinement."""

    root: Zygote
    canary: canary.Verdict
    device: str
    """What GPU checks run on: "emulated", a real accelerator's description, or "none"."""
    real: bool
    """Whether it is a real accelerator."""


@contextmanager
def ground(assignment: Assignment, device: str) -> Iterator[Ground]:
    """Split off the zygote for this assignment. Nothing of `solutions/` or of a submission may have been read yet.

    `device`: "auto" takes a real accelerator if there is one and the emulated one else, "gpu" only a real one (else
    UsageError), "emulated" the emulated one even where there is a real one, "cpu" none.
    """
    torch.set_num_threads(1)  # submissions are small and marked side by side; threads would only wait for each other
    emulated = Accelerator("emulated", "emulated")
    found = devices.require_real() if device == "gpu" else devices.detect() if device == "auto" else emulated
    warmed = functools.partial(
        StudentProcess.warmed,
        from_scratch=assignment.settings.from_scratch,
        trains=assignment.settings.trains,
        accelerator_name=found.name,
    )
    root = zygote.start(warmed)
    try:
        verdict = canary.try_out(lambda targets: let_try(root, targets), assignment.settings.limits.memory_mb << 20)
        yield Ground(root, verdict, "none" if device == "cpu" else found.label, not found.emulated)
    finally:
        root.close()


def refuse_below(base: Ground, floor: str) -> None:
    """Raise UsageError when this machine confines less well than `floor` ("A" is the best level, "C" the least)."""
    if base.canary.level > floor:
        raise UsageError(
            f"Student code can only be confined at level {base.canary.level} here, and level {floor} is asked for. "
            "`grader doctor` says what is missing and how to get it; --insecure grades all the same."
        )


def let_try(root: Zygote, targets: canary.Targets) -> canary.Findings:
    """What a confined child found out by attacking `targets`. Raises SandboxError when it could not even try."""
    policy = {"memory_bytes": targets.memory_bytes, "readable": [targets.folder]}
    pid, channel, reader = root.fork_student({"policy": policy, "canary": msgspec.to_builtins(targets)})
    channel.settimeout(START_SECONDS)
    try:
        message, _, _ = wire.receive(channel)
        return msgspec.convert(message["findings"], canary.Findings)
    except (OSError, EOFError, KeyError, wire.Malformed, msgspec.ValidationError) as error:
        raise SandboxError(f"The sandbox can't even be tried out: {error!r}. Run `grader doctor`.") from None
    finally:
        channel.close()
        os.close(reader)
        root.reap(pid)
