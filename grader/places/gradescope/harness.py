"""What Gradescope's harness does around `run_autograder`, on this machine: fresh folders, a deadline, one merged log.

Facts from Gradescope's documentation and from copies of its harness (0.15); nothing here was seen on the live service.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from grader.errors import UsageError
from grader.places.gradescope.tree import Tree
from grader.places.processes import adopting, descendants

REMOVED = ("START_SSHD", "AUTHENTICATION_TOKEN", "GRADER_SECRET")
"""Variables that `run_autograder` does not see; ours only so that it can't depend on it."""
SCRIPTS = ("setup.sh", "run_autograder")
SAMPLE_SECONDS = 0.1


@dataclass(frozen=True)
class Ran:
    """How a run went, as the harness sees it, and what it does not look at."""

    exit_status: int
    timed_out: bool
    seconds: float
    stdout: str
    raw: bytes | None
    """What lies in results.json at the end; None when there is no such file."""
    left_running: int
    """Processes that were still alive when `run_autograder` had ended."""
    peak_mb: float
    """Of all its processes together, each shared page counted once; 0 where the kernel does not tell."""


def unpack(archive: Path, tree: Tree) -> list[str]:
    """Lay the zip out as the image's build does; what is wrong with it, in words. Raises UsageError: not a zip."""
    source = tree.root / "source"
    source.mkdir(parents=True)
    problems = []
    try:
        with zipfile.ZipFile(archive) as opened:
            names = set(opened.namelist())
            for script in SCRIPTS:
                if script not in names:
                    problems.append(f"There is no {script} at the root of the zip: zip the files, not their folder.")
            opened.extractall(source)
    except (OSError, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UsageError(f"{source} can't be written: {error.strerror}. Free some space there.") from None
        raise UsageError(f"{archive} can't be read as a zip: {error}. Make it with: grader gradescope build") from None
    for script in SCRIPTS:
        path = source / script
        if path.is_file():
            data = path.read_bytes()
            if not data.startswith(b"#!"):
                problems.append(f"{script} does not start with #!.")
            if b"\r" in data:
                problems.append(f"{script} has line ends of Windows.")
    with contextlib.suppress(OSError):
        shutil.copy(source / "run_autograder", tree.root / "run_autograder")
        (tree.root / "run_autograder").chmod(0o755)
    return problems


def set_up(tree: Tree) -> Path:
    """What setup.sh comes to, without network: an interpreter with this one's packages and the zip's grader.

    The permissions are those that setup.sh gives. Returns the interpreter.
    """
    source = tree.root / "source"
    place = tree.root / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    site = next(place.glob("lib/python*/site-packages"))
    packages = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    # In this order: the grader in the zip stands before one that is installed here.
    (site / "grader.pth").write_text("\n".join([str(source), *packages]) + "\n", encoding="utf-8")
    subprocess.run([python, "-m", "compileall", "-q", source / "grader", source / "course"], check=False)
    for name, folders, plain in (("course", 0o700, 0o600), ("grader", 0o755, 0o644), ("templates", 0o755, 0o644)):
        for path in (source / name, *(source / name).rglob("*")):
            path.chmod(folders if path.is_dir() else plain)
    for folder in (tree.root, source):
        folder.chmod(0o711)
    return python


def lay_out(tree: Tree, submission: Path, metadata: dict[str, Any]) -> None:
    """Fresh `submission/` and `results/`, and the metadata. A zip is unpacked, as the service does on upload."""
    for folder in (tree.submission, tree.results.parent):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    if submission.is_dir():
        shutil.copytree(submission, tree.submission, dirs_exist_ok=True, symlinks=True)
    elif zipfile.is_zipfile(submission):
        with zipfile.ZipFile(submission) as opened:
            opened.extractall(tree.submission)
    elif submission.is_file():
        shutil.copy(submission, tree.submission)
    else:
        raise UsageError(f"{submission} does not exist. Give a submission: a file, a folder or a zip.")
    tree.metadata.write_text(json.dumps(metadata), encoding="utf-8")


def start(tree: Tree, python: Path, timeout: float) -> Ran:
    """Run `run_autograder` once and read its results, as the harness does.

    At the deadline only the direct child is killed, and its results are replaced by a zero. What it leaves running is
    counted and killed here; on the service the container ends.
    """
    environment = {name: value for name, value in os.environ.items() if name not in REMOVED}
    environment |= {"TIMEOUT_SECONDS": f"{timeout:g}", "GRADER_PYTHON": str(python), "SUBMISSION_URL": "none"}
    environment.pop("GRADER_CLEAN", None)
    log = tree.results.parent / "stdout"
    started = time.monotonic()
    with adopting(), log.open("wb") as out:
        before = len(descendants(os.getpid()))
        child = _run(tree.root, environment, out)
        with _Watch(child.pid) as watch:
            timed_out = _wait(child, timeout)
        seconds = time.monotonic() - started
        left = len(descendants(os.getpid())) - before
    if timed_out:
        words = f"Your submission timed out. It took longer than {timeout:g} seconds to run."
        tree.write({"score": 0.0, "output": words})
    raw = tree.results.read_bytes() if tree.results.is_file() else None
    text = log.read_text(encoding="utf-8", errors="replace")
    return Ran(child.returncode, timed_out, seconds, text, raw, left, watch.peak_mb)


def _run(folder: Path, environment: dict[str, str], out: BinaryIO) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [str(folder / "run_autograder")],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"run_autograder can't be started: {error.strerror}.") from None


def _wait(child: subprocess.Popen[bytes], timeout: float) -> bool:
    """Whether the deadline passed; then the child, and nothing else, has been killed."""
    try:
        child.wait(timeout)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.wait()
        return True
    return False


class _Watch:
    """Measures the memory of a process and all below it, a few times a second."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.peak_mb = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            kilobytes = sum(_proportional(pid) for pid in [self.pid, *descendants(self.pid)])
            self.peak_mb = max(self.peak_mb, kilobytes / 1024)


def _proportional(pid: int) -> int:
    """Kilobytes of the process; of a page that n processes share, an n-th. 0 when it is gone or can't be read."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return 0


def python_in_words() -> str:
    """What stands in for the image's interpreter."""
    return f"Python {sys.version.split()[0]} with the packages in {sysconfig.get_path('purelib')}"
