"""How much memory a container lets its processes have together."""

from __future__ import annotations

import contextlib
from pathlib import Path

from grader.assignment import Limits

OWN_MB = 380
"""What the grader itself takes at its peak: measured over all its processes by bench/gradescope.py, and a little."""
LEAST_MB = 128
_ROOT = Path("/sys/fs/cgroup")


def fitting(limits: Limits, container_mb: int | None) -> int:
    """MB that a submission may have: what its assignment allows, or what a small container leaves.

    Without this, the kernel would kill the submission where an honest MemoryError could say what happened.
    """
    if container_mb is None:
        return limits.memory_mb
    return min(limits.memory_mb, max(LEAST_MB, container_mb - OWN_MB))


def container_mb(proc: Path = Path("/proc/self/cgroup"), root: Path = _ROOT) -> int | None:
    """The limit of the control group that this process is in, version 1 or 2; None without one."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for line in proc.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                files = [root / path.lstrip("/") / "memory.max", root / "memory.max"]
            elif "memory" in controllers.split(","):
                name = "memory.limit_in_bytes"
                files = [root / "memory" / path.lstrip("/") / name, root / "memory" / name]
            else:
                continue
            for file in files:
                with contextlib.suppress(OSError, ValueError):
                    found.append(int(file.read_text(encoding="ascii")) >> 20)
    least = min(found, default=None)
    return least if least is not None and least < 1 << 30 else None  # without a limit, version 1 says an absurd one
