"""What intake costs: a class in one zip, and one submission after the other read out of it.

    python -m bench.intake [SUBMISSIONS]

Prints CPU milliseconds a submission (scan and read together) and how far memory rose above the bare process.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import Settings
from grader.entry import Entry
from grader.intake import scan

FORMS = ("folders", "canvas", "gradescope")
_NOTEBOOK_BYTES = 60_000


@dataclass(frozen=True)
class Cost:
    form: str
    submissions: int
    scan_ms: float
    """CPU milliseconds a submission for recognising and listing."""
    read_ms: float
    """CPU milliseconds a submission for reading its contents."""
    rise_mb: float
    """How far the process's largest memory rose, in MB, while it scanned and read."""


def measure(form: str, submissions: int = 2000) -> Cost:
    """The cost of one class in the given form, with every fifth upload a zip of its own.

    It is measured in a process of its own, so that what made the class does not count.
    """
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "submissions.zip"
        _write_class(path, form, submissions)
        fresh = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(max_workers=1, mp_context=fresh) as process:
            return process.submit(_measure, form, submissions, path).result()


def _measure(form: str, submissions: int, path: Path) -> Cost:
    settings = Settings(
        title="Attention",
        entry=Entry(function="scaled_dot_product_attention", arguments=["Q", "K", "V"], returns=["output"]),
        files=["attention.ipynb"],
    )
    before = _peak_mb()
    start = time.process_time()
    with scan([path], settings) as intake:
        scanned = time.process_time()
        graded = sum(not intake.read(entry).problem for entry in intake.entries)
        done = time.process_time()
    if graded != submissions:
        raise RuntimeError(f"{form}: only {graded} of {submissions} submissions could be read.")
    each = 1000 / submissions
    return Cost(form, submissions, (scanned - start) * each, (done - scanned) * each, _peak_mb() - before)


def _write_class(path: Path, form: str, submissions: int) -> None:
    """A class of notebooks in one zip, as the form names them."""
    chance = random.Random(0)
    notebook = b'{"cells": ["' + chance.randbytes(_NOTEBOOK_BYTES // 2).hex().encode() + b'"]}'
    packed = path.with_name("upload.zip")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as upload:
        upload.writestr("hw/attention.ipynb", notebook)
        upload.writestr("__MACOSX/hw/._attention.ipynb", b"x")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(submissions):
            name, data = ("hw.zip", packed.read_bytes()) if number % 5 == 0 else ("attention.ipynb", notebook)
            archive.writestr(_member(form, number, name), data, compresslevel=1)
        if form == "gradescope":
            archive.writestr("export/submission_metadata.yml", "".join(map(_record, range(submissions))))


def _member(form: str, number: int, name: str) -> str:
    if form == "canvas":
        return f"student{number}_{10_000 + number}_{90_000 + number}_{name}"
    if form == "gradescope":
        return f"export/submission_{number}/{name}"
    return f"class/student {number}/{name}"


def _record(number: int) -> str:
    """One submission in Gradescope's list, with the results that make the real lists long."""
    test = "    - name: a test\n      score: 1.0\n      max_score: 1.0\n      output: |\n        " + "x" * 80 + "\n"
    return (
        f"submission_{number}:\n  :submitters:\n  - :name: Student {number}\n    :sid: '{number:07}'\n"
        f"    :email: s{number}@uni.example\n  :created_at: 2026-02-04 09:30:00.250000000 Z\n"
        f"  :results:\n    tests:\n{test * 15}  :history:\n  - :id: {number}1\n"
    )


def _peak_mb() -> float:
    """The largest resident memory of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells on Linux includes the parent's
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    submissions = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"intake of {submissions} submissions from one zip")
    for form in FORMS:
        cost = measure(form, submissions)
        print(
            f"  {cost.form:11} scan {cost.scan_ms:.2f} + read {cost.read_ms:.2f} = "
            f"{cost.scan_ms + cost.read_ms:.2f} ms CPU each; memory rose by {cost.rise_mb:.0f} MB"
        )


if __name__ == "__main__":
    main()
