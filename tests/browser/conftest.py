"""A real browser, the accessibility rules of axe-core, and the pages to look at."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import reports
from driver import Browser, missing

from grader.compare_report import show
from grader.pages.dashboard import dashboard
from grader.pages.render import Renderer
from grader.pages.summary import Audience
from grader.results import Report, encode
from grader.run_directory import RunDirectory, write

AXE = "axe-core@4.14.1"
AXE_SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
CACHE = Path(__file__).resolve().parents[2] / "build" / "axe"
REPORTS = {
    "right": reports.right,
    "wrong": reports.wrong,
    "crashed": reports.crashed,
    "unread": reports.unread,
    "fault": reports.fault,
    "folded": reports.folded,
    "hostile": reports.hostile,
}


def lacking(reason: str) -> None:
    """Skip and say why; where CI is set, these things are part of the set-up, so there it is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if reason := missing():
        lacking(reason)
    made = Browser()
    yield made
    with contextlib.suppress(OSError):  # another test may have ended every process below this one, the driver too
        made.__exit__(None, None, None)


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core, fetched once with npm into build/."""
    script = CACHE / "package" / "axe.min.js"
    if not script.is_file():
        if shutil.which("npm") is None:
            lacking("npm is not installed, so axe-core can't be fetched (Debian: apt-get install npm)")
        CACHE.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", AXE, "--silent", "--pack-destination", str(CACHE)]
        got = subprocess.run(command, capture_output=True, text=True, cwd=CACHE, timeout=60, check=False)
        if got.returncode:
            lacking(f"npm could not fetch {AXE}: {got.stderr.strip()[-300:]}")
        archive = CACHE / f"{AXE.replace('@', '-')}.tgz"
        assert base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() == AXE_SHA512
        with tarfile.open(archive) as packed:
            member = packed.extractfile("package/axe.min.js")
            assert member is not None
            script.parent.mkdir(exist_ok=True)
            script.write_bytes(member.read())
    return script.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's pages: index.html, large.html (2,000 students), empty.html, compare.html and feedback/."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "feedback").mkdir()
    renderer = Renderer()
    readers: list[Audience] = ["student", "staff"]
    for name, make in REPORTS.items():
        for audience in readers:
            (folder / f"{name}-{audience}.html").write_text(renderer.html(make(), audience=audience), encoding="utf-8")
    made = [make() for name, make in REPORTS.items() if name != "folded"]  # that one is "wrong" once more
    made[-1:-1] = [reports.absent(), reports.called_otherwise()]
    for report in made[:-1]:
        page = renderer.html(report, audience="student")
        (folder / "feedback" / f"{report.submission.id}.html").write_text(page, encoding="utf-8")
    (folder / "index.html").write_text(dashboard(made, reports.run_info(len(made))), encoding="utf-8")
    (folder / "large.html").write_text(dashboard(reports.a_class(2000), reports.run_info(2000)), encoding="utf-8")
    (folder / "empty.html").write_text(dashboard([], reports.run_info(0)), encoding="utf-8")
    before, after = (folder / name for name in ("before", "after"))
    write_run(before, made)
    changed = zip(made, [*made[1:], made[0]], strict=True)  # everybody gets the results of the next
    write_run(after, [msgspec.structs.replace(other, submission=one.submission) for one, other in changed])
    show(before, after, html_file=folder / "compare.html")
    return folder


def write_run(folder: Path, made: list[Report]) -> None:
    """A run directory with these results."""
    run = RunDirectory(folder)
    run.create()
    write(folder / "run.json", encode(reports.run_info(len(made))))
    for report in made:
        write(run.result(report.submission.id), encode(report))
