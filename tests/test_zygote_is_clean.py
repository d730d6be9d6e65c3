"""What a student's process inherits: nothing of the staff's, found by reading the memory of a run in progress."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.places.processes import descendants
from tests import course

SECRET = "a-course-secret-that-no-student-may-see"
STAFF = "words that stand only in the hidden checks"
SLOW = "import time\nWAITED = time.sleep(60)\ndef double(x):\n    return x * 2, WAITED\n"
OTHER = "def double(x):\n    return 'words of another student'\n"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux may read the memory of other processes"
)


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def memory(pid: int) -> Iterator[bytes]:
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as pages:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if found:
                start, end = (int(part, 16) for part in found.groups())
                pages.seek(start)
                with contextlib.suppress(OSError):
                    yield pages.read(end - start)


def holds(pid: int, *needles: str) -> set[str]:
    return {needle for part in memory(pid) for needle in needles if needle.encode() in part}


def test_no_process_that_a_student_descends_from_holds_a_secret(tmp_path: Path) -> None:
    """The root zygote, its zygotes and the student's process hold neither the course secret, nor the hidden checks, nor
    another student's code; the marker holds the checks, so that the search is known to find what is there."""
    patient = course.SETTINGS.replace("load_seconds = 3", "load_seconds = 90").replace("= 6", "= 90")
    assert course.make(tmp_path, hidden=course.HIDDEN + f"\nNOTE = {STAFF!r}\n", settings=patient)
    work = tmp_path / "work"
    for name, code in (("adam", OTHER), ("zoe", SLOW)):
        (work / name).mkdir(parents=True)
        (work / name / "double.py").write_text(code)
    command = [sys.executable, "-m", "grader", "--root", str(tmp_path), "grade", "double", str(work), "--jobs", "1"]
    environment = {**os.environ, "GRADER_SECRET": SECRET}
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "run")], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as run:
        try:
            until = time.monotonic() + 60
            while not (tmp_path / "run" / "results" / "adam.json").exists():
                assert run.poll() is None, run.stderr
                assert time.monotonic() < until
                time.sleep(0.02)
            root = next(child for child in children(run.pid) if children(child))
            while not any(children(zygote) for zygote in children(root)):
                time.sleep(0.01)
            family = [root, *descendants(root)]
            marker = next(child for child in children(run.pid) if child != root)
            assert holds(marker, STAFF) == {STAFF}
            assert not set().union(*(holds(pid, SECRET, STAFF, "words of another student") for pid in family))
            assert len(family) >= 3
            assert SECRET.encode() not in Path(f"/proc/{run.pid}/environ").read_bytes()
        finally:
            run.kill()
