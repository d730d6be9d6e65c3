"""Processes of a run that die at random moments: everything is graded once, by running the same command again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import course

COUNT = 12
PATIENCE = 150
"""Seconds on a busy machine until something counts as hanging."""
SLOW = "import time\n\n\ndef double(x):\n    time.sleep(0.02)\n    return x + x\n"
WRONG = "import time\n\n\ndef double(x):\n    time.sleep(0.02)\n    return x * 3\n"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def command(place: Path) -> list[str]:
    options = ["--out", str(place / "run"), "--jobs", "2", "--require-level", "B"]
    return [sys.executable, "-m", "grader", "--root", str(place), "grade", "double", str(place / "class"), *options]


def tree(root: int) -> dict[str, list[int]]:
    """The processes of a run by what they are: main, and below it markers and zygotes, and below those children."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(entry.parent.name))
    below = parents.get(root, [])
    deeper = [pid for one in below for pid in parents.get(one, [])]
    deepest = [pid for one in deeper for pid in parents.get(one, [])]
    return {"main": [root], "marker or zygote": below, "zygote or child": deeper, "child": deepest}


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def scores(place: Path) -> dict[str, float]:
    return {path.stem: json.loads(path.read_bytes())["score"] for path in (place / "run" / "results").glob("*.json")}


@pytest.mark.parametrize("victim", ["child", "zygote or child", "marker or zygote", "main"])
def test_killed_at_a_random_moment(victim: str, tmp_path: Path) -> None:
    """Whoever is killed, whenever: at last every submission has its right mark, and none was ever given another."""
    course.make(tmp_path)
    expected = {}
    for number in range(COUNT):
        name = f"student{number:02}"
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "double.py").write_text(WRONG if number % 3 == 0 else SLOW)
        expected[name] = 6.0 if number % 3 == 0 else 10.0
    draw = random.Random(victim)
    seen: dict[str, float] = {}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command(tmp_path), stdout=quiet, stderr=quiet) as run:
        deadline = time.monotonic() + PATIENCE
        while not scores(tmp_path) and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        for _ in range(3):
            time.sleep(draw.uniform(0.0, 0.1))
            living = tree(run.pid)[victim]
            if run.poll() is None and living:
                os.kill(draw.choice(living), signal.SIGKILL)
            seen |= scores(tmp_path)
        family = [pid for pids in tree(run.pid).values() for pid in pids if pid != run.pid]
        status = run.wait(timeout=PATIENCE)
    seen |= scores(tmp_path)
    deadline = time.monotonic() + PATIENCE
    while any(map(alive, family)) and time.monotonic() < deadline:  # what main left behind notices it by itself
        time.sleep(0.05)
    assert not [pid for pid in family if alive(pid)]
    if status != 0:
        again = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert again.returncode == 0, again.stderr
    assert scores(tmp_path) == expected
    assert {name: expected[name] for name in seen} == seen
