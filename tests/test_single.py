"""What one run in a container rests on: its memory, and that nothing which it started goes on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from grader.assignment import Limits
from grader.places.memory import LEAST_MB, OWN_MB, container_mb, fitting
from grader.places.processes import adopting, descendants


def groups(tmp_path: Path, line: str, files: dict[str, str]) -> int | None:
    """The limit that a process sees whose control group is described by `line`."""
    (tmp_path / "cgroup").write_text(f"1:name=systemd:/\n{line}\n")
    for name, text in files.items():
        path = tmp_path / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return container_mb(tmp_path / "cgroup", tmp_path / "sys")


@pytest.mark.parametrize(
    ("line", "files", "megabytes"),
    [
        ("0::/", {"memory.max": "805306368\n"}, 768),
        ("0::/", {"memory.max": "max\n"}, None),
        ("0::/a/b", {"a/b/memory.max": "536870912\n", "memory.max": "805306368\n"}, 512),
        ("4:memory:/x", {"memory/memory.limit_in_bytes": "805306368\n"}, 768),
        ("4:cpu,memory:/x", {"memory/x/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ("4:memory:/x", {}, None),
        ("0::/", {"memory.max": ""}, None),
    ],
)
def test_the_container_s_limit_is_found(
    tmp_path: Path, line: str, files: dict[str, str], megabytes: int | None
) -> None:
    """Both versions of control groups, nested or not, with and without a limit."""
    assert groups(tmp_path, line, files) == megabytes


def test_a_submission_gets_what_the_container_leaves() -> None:
    """The assignment's limit holds where there is room, else what is left, and never next to nothing."""
    limits = Limits(memory_mb=1024)
    assert fitting(limits, None) == 1024
    assert fitting(limits, 8000) == 1024
    assert fitting(limits, 768) == 768 - OWN_MB
    assert fitting(limits, 100) == LEAST_MB


def test_orphans_are_found_and_ended_and_others_are_spared() -> None:
    """A process that cut itself loose ends with the rest; one that was there before goes on."""
    before = subprocess.Popen(["sleep", "60"])
    try:
        with adopting():
            script = "setsid sleep 60 >&2 & echo $!; setsid sleep 61 >&2 & echo $!"
            told = subprocess.run(["sh", "-c", script], check=True, stdout=subprocess.PIPE, text=True).stdout
            loose = set(map(int, told.split()))  # only these: other tests of this process may have left some, too
            assert len(loose) == 2
            assert loose <= set(descendants(os.getpid()))
        assert not loose & set(descendants(os.getpid()))
        assert before.pid in descendants(os.getpid())
    finally:
        before.kill()
        before.wait()
