"""A cluster marks as this machine does, and the loss of a worker costs nothing."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.disturb import everything
from grader import assignment as assignments
from grader.cluster import parcel
from grader.cluster.parcel import File, Package, Ready, Terms
from grader.errors import GraderFault, UsageError
from grader.places.processes import descendants
from grader.pool import Channel
from grader.rules.policy import Policy
from tests import class_runs, course
from tests.class_runs import handed_in
from tests.test_zygote_is_clean import holds

SECRET = class_runs.SECRET.decode()
STAFF = "words that stand only in the hidden checks"
COUNT = 24

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="distributed is not installed (pip install 'grader[cluster]')",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("course")
    course.make(place, hidden=course.HIDDEN + f"\nNOTE = {STAFF!r}\n")
    (place / "solutions" / "double" / "sample_class").mkdir()
    (place / "solutions" / "double" / "sample_class" / "big.py").write_text("x = 1\n")
    return place


def packed(root: Path) -> Package:
    return parcel.pack(assignments.load("double", root), root / "templates", class_runs.SECRET, Policy())


def test_the_package_is_the_assignment_and_nothing_else(root: Path, tmp_path: Path) -> None:
    """Both halves arrive with the same digest, so with the same seeds; made-up classes stay at home."""
    sent = parcel.decode_package(parcel.encode(packed(root)))
    assert sorted(file.path for file in sent.files) == [
        "assignments/double/assignment.toml",
        "assignments/double/test_double.py",
        "solutions/double/double.py",
        "solutions/double/test_hidden.py",
    ]
    home = assignments.load("double", root)
    terms = parcel.decode_terms(parcel.encode(Terms("double", home.settings, "emulated", "B")))
    there = parcel.unpack(sent, terms, tmp_path)
    assert (there.digest(), there.settings) == (home.digest(), home.settings)


def test_logs_of_a_cluster_do_not_show_the_secret(root: Path) -> None:
    """Dask writes a task's arguments into its log when the task fails."""
    assert SECRET not in repr(packed(root))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([File("assignments/double/x.py", b"")], "not the one that was sent"),
        ([File("../x.py", b"")], "leads out"),
        ([File("/x.py", b"")], "leads out"),
    ],
)
def test_a_package_that_is_not_what_was_sent_is_refused(
    root: Path, tmp_path: Path, files: list[File], words: str
) -> None:
    """Another digest would mean other seeds; a path out of the folder is never followed."""
    settings = assignments.load("double", root).settings
    with pytest.raises(GraderFault, match=words):
        parcel.unpack(Package(files, "0" * 64, b"", Policy()), Terms("double", settings, "cpu", "B"), tmp_path)


def test_a_host_that_nobody_asks_any_more_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that was killed leaves its hosts without work: they give up by themselves, and the log says so."""
    from grader.cluster import host

    monkeypatch.setattr(host, "IDLE_SECONDS", 0.05)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours).send(b"work")
        jobs = host._jobs(Channel(theirs))
        assert next(jobs).message == b"work"
        assert list(jobs) == []
    assert "had nothing to do for 0 minutes and ends. Nothing is lost" in capsys.readouterr().err


class FakeHost:
    """A host that marks at once; `ended` ones have given up."""

    def __init__(self, *terms: object, ended: bool = False) -> None:
        self.ended = ended
        self.closed = False

    def mark(self, message: bytes) -> bytes | None:
        return None if self.ended else b"pages of " + message

    def close(self) -> None:
        self.closed = True


@needs_dask
def test_a_run_that_rested_long_loses_no_submission(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When every warm host has given up meanwhile, the next submission starts a new one, and it is not a fault."""
    from grader.cluster import worker

    monkeypatch.setattr(worker, "Host", FakeHost)
    terms = Terms("double", assignments.load("double", root).settings, "emulated", "B")
    hosts = worker.Hosts("run", terms, packed(root), 1.0)
    hosts.setup(SimpleNamespace(address="tcp://here:1", local_directory=""))  # type: ignore[arg-type]
    old = [FakeHost(ended=True) for _ in range(8)]
    hosts.idle += old  # type: ignore[arg-type]
    assert hosts.mark(b"ada") == b"pages of ada"
    assert all(host.closed for host in old)
    assert [host.ended for host in hosts.idle] == [False]


@needs_dask
@pytest.mark.parametrize("address", ["nonsense", "host:8786", "no/such/file.json"])
def test_an_address_that_is_none_is_refused_at_once(root: Path, address: str) -> None:
    """It says how to write one; nothing waits for an answer that can't come."""
    from grader.cluster import connect as cluster

    assignment = assignments.load("double", root)
    with (
        pytest.raises(UsageError, match="write tcp://HOST:8786"),
        cluster.connect(address, assignment, packed(root), "emulated", "B"),
    ):
        pass


@needs_dask
@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"b": {"torch": "2.14"}}, "a has torch 2.13, b has 2.14"),
        ({"b": {"device": "cuda:0 Other"}}, "a has device emulated, b has cuda:0 Other"),
        ({"b": {"grader": "9"}}, "b has grader 9"),
        ({"b": {"fault": "b: level C"}}, "b: level C"),
    ],
)
def test_workers_that_would_mark_differently_are_refused(told: dict[str, dict[str, str]], words: str) -> None:
    """One run has one version of everything and one device: the worker that differs is named."""
    import grader
    from grader.cluster.connect import _in_common

    base = {"level": "A", "device": "emulated", "grader": grader.__version__, "torch": "2.13", "python": "3.11"}
    both: dict[str, dict[str, str]] = {"a": {}, **told}
    ready = {name: Ready(**(base | facts)) for name, facts in both.items()}  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=words):
        _in_common(ready)


@needs_dask
def test_the_level_of_a_run_is_that_of_its_weakest_worker() -> None:
    """What is recorded for the class promises nothing that one of the machines did not keep."""
    import grader
    from grader.cluster.connect import _in_common

    common = {"device": "emulated", "grader": grader.__version__, "torch": "2", "python": "3.11"}
    ready = {level: Ready(level=level, **common) for level in ("A", "B")}  # type: ignore[arg-type]
    assert _in_common(ready).level == "B"


def test_without_dask_the_command_says_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the extra, no traceback."""
    from grader.cluster import connect as cluster

    monkeypatch.setitem(sys.modules, "distributed", None)
    assignment = assignments.load("double", root)
    with (
        pytest.raises(UsageError, match=r"grader\[cluster\]"),
        cluster.connect("tcp://127.0.0.1:1", assignment, packed(root), "emulated", "B"),
    ):
        pass


@contextmanager
def dask(place: Path, workers: int, *more: str) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and its workers as processes of their own: (scheduler file, workers). None of them has the secret."""
    environment = {name: value for name, value in os.environ.items() if name != "GRADER_SECRET"}
    log = (place / "dask.log").open("wb")
    file = place / "scheduler.json"

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *words, "--scheduler-file", str(file), "--no-dashboard"]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=place)

    running = [start("scheduler", "--host", "127.0.0.1", "--port", "0")]
    try:
        for number in range(workers):
            scratch = ("--local-directory", str(place / f"worker{number}"))
            running.append(start("worker", "--no-nanny", "--nthreads", "1", *scratch, *more))
        yield str(file), running[1:]
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
        log.close()


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """The command, running; killed when the test ends before it does."""
    with subprocess.Popen(
        command, env=class_runs.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        try:
            yield run
        finally:
            run.kill()


def wait_until(true: Callable[[], object], seconds: float = 90.0) -> None:
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, "it takes too long"
        time.sleep(0.02)


@needs_dask
@pytest.mark.slow
def test_a_worker_lost_in_the_middle_changes_nothing(root: Path, tmp_path: Path) -> None:
    """Two workers, one killed: the run completes, equals one made on this machine, and leaves nothing on either."""
    work, out, home = handed_in(tmp_path / "work", COUNT), tmp_path / "out", tmp_path / "home"
    with dask(tmp_path, 2) as (address, workers):
        command = class_runs.command(root, work, out, "--cluster", address)
        wait_until(Path(address).exists)
        with started(command) as run:
            results = out / "results"
            wait_until(lambda: run.poll() is not None or (results.is_dir() and len(list(results.iterdir())) >= 3))
            assert run.poll() is None, run.communicate()[0]
            hosts = descendants(workers[0].pid)
            assert hosts, "the worker has no host of its own"
            os.kill(workers[0].pid, signal.SIGKILL)
            told, _ = run.communicate(timeout=120)
        assert run.returncode == 0, told
        wait_until(lambda: not [pid for pid in hosts if Path(f"/proc/{pid}").exists()], 30)
        wait_until(lambda: not list(tmp_path.glob("worker*/**/test_hidden.py")), 30)
        again = class_runs.run(command)
        assert f"{COUNT} kept from before" in " ".join(again.stdout.split())
    assert class_runs.run(class_runs.command(root, work, home)).returncode == 0
    assert everything(out) == everything(home)


@needs_dask
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the memory of other processes")
def test_no_process_that_a_student_descends_from_holds_a_secret_there(tmp_path: Path) -> None:
    """On a worker's machine too: the host's zygotes and the student's process know neither secret nor hidden checks."""
    patient = course.SETTINGS.replace("call_seconds = 1", "call_seconds = 90").replace("= 6", "= 90")
    course.make(tmp_path, hidden=course.HIDDEN + f"\nNOTE = {STAFF!r}\n", settings=patient)
    work, out = tmp_path / "work", tmp_path / "out"
    for name, code in (("adam", course.RIGHT), ("zoe", "import time\ndef double(x):\n    time.sleep(60)\n")):
        (work / name).mkdir(parents=True)
        (work / name / "double.py").write_text(code)
    with dask(tmp_path, 1) as (address, workers):
        wait_until(Path(address).exists)
        with started(class_runs.command(tmp_path, work, out, "--cluster", address)) as run:
            wait_until(lambda: run.poll() is not None or (out / "results" / "adam.json").exists())
            assert run.poll() is None, run.communicate()[0]
            host = next(pid for pid in descendants(workers[0].pid) if b"grader.cluster.host" in facts(pid, "cmdline"))
            assert SECRET.encode() not in facts(host, "cmdline") + facts(host, "environ")
            zygote = min(pid for pid in descendants(host) if parent(pid) == host)
            marker = next(pid for pid in descendants(host) if parent(pid) == host and pid != zygote)
            assert holds(marker, SECRET, STAFF) == {SECRET, STAFF}
            assert not held_below(zygote, 2)  # the marker's zygote and zoe


def held_below(zygote: int, count: int) -> set[str]:
    """What the zygote and its at least `count` descendants hold, all read while they lived."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        below = descendants(zygote)
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one has just ended: look again
            found = set().union(*(holds(pid, SECRET, STAFF) for pid in [zygote, *below]))
            if found or len(below) >= count:
                return found
    raise AssertionError(f"never as many as {count} processes below the zygote")


def facts(pid: int, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


def parent(pid: int) -> int:
    return int(facts(pid, "stat").rpartition(b")")[2].split()[1])


@needs_dask
@pytest.mark.slow
def test_gpu_checks_wait_for_a_worker_that_declares_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --device gpu a worker without the resource is no worker; one that declares it but has none says so."""
    from grader.cluster import connect as cluster

    monkeypatch.setattr(cluster, "WORKER_SECONDS", 5)
    assignment = assignments.load("double", root)

    def connect(address: str) -> None:
        with cluster.connect(address, assignment, packed(root), "gpu", "C"):
            pass

    with dask(tmp_path, 1) as (address, _):
        wait_until(Path(address).exists)
        with pytest.raises(UsageError, match="resource GPU"):
            connect(address)
    (tmp_path / "with").mkdir()
    from grader import devices

    if not devices.detect().emulated:
        pytest.skip("this machine has a real accelerator, so the second half shows nothing here")
    monkeypatch.setattr(cluster, "WORKER_SECONDS", 60)
    with dask(tmp_path / "with", 1, "--resources", "GPU=1") as (address, _):
        wait_until(Path(address).exists)
        with pytest.raises(UsageError, match="The worker tcp://"):
            connect(address)
