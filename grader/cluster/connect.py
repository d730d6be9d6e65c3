"""`--cluster ADDRESS`: submissions go to an existing Dask scheduler, results come back and are stored here.

Each worker gets the assignment once. A worker that is lost costs nothing: the scheduler gives its submissions to the
others. Inputs come from the same seeds as at home, and all machines of a run use the same versions and the same
device, so the marks are the same too.
"""

from __future__ import annotations

import asyncio
import queue
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grader
from grader import batch
from grader.assignment import Assignment
from grader.batch import Plan
from grader.cluster import parcel
from grader.cluster.parcel import Device, Package, Ready, Terms
from grader.errors import GraderFault, UsageError
from grader.pool import TRIES, Job
from grader.results import decode
from grader.run_directory import write

Client = Any
Future = Any
"""Dask's own, of which only a part is typed; Dask is imported only when a cluster is used."""

CONNECT_SECONDS = 20
WORKER_SECONDS = 120
"""How long to wait for the first worker, and for the next one when the last is gone."""
PROBE_SECONDS = 300
REFRESH_SECONDS = 5.0
GPU = "GPU"
"""The resource that workers with an accelerator declare: `dask worker --resources GPU=1`."""


@dataclass(frozen=True)
class Cluster:
    """A scheduler whose workers know the assignment, and what these are like."""

    client: Client
    run: str
    ready: Ready
    """What all workers have in common; the level is the lowest."""
    resources: dict[str, float]

    def threads(self) -> int:
        """How many submissions can be marked at once now."""
        return sum(threads for _, threads in _workers(self.client, self.resources))

    def markers(self, plan: Plan) -> _Markers:
        """Markers for `batch.grade`."""
        return _Markers(self, plan)


@contextmanager
def connect(address: str, assignment: Assignment, package: Package, device: Device, floor: str) -> Iterator[Cluster]:
    """Connect to the scheduler at `address` (or named in a scheduler file), send the assignment, look at each worker.

    Raises UsageError: Dask is not installed, no scheduler, no (fitting) worker, workers that differ or can't confine.
    """
    try:
        import distributed

        from grader.cluster.worker import Hosts, plugin_name
    except ImportError as error:
        raise UsageError(f"--cluster needs Dask ({error}). Install it with: pip install 'grader[cluster]'") from None
    if not (re.fullmatch(r"\w+://.+:\d+/?", address) or Path(address).is_file()):
        raise UsageError(f"--cluster {address}: write tcp://HOST:8786, or the path of a scheduler file that is there.")
    where: dict[str, Any] = {"scheduler_file": address} if Path(address).is_file() else {"address": address}
    try:
        make: Any = distributed.Client
        client: Client = make(**where, timeout=CONNECT_SECONDS, set_as_default=False, name="grader")
    except (OSError, ValueError, asyncio.TimeoutError) as error:  # Python 3.10 has two errors of that name
        raise UsageError(f"There is no Dask scheduler at {address}: {error}.") from None
    run = secrets.token_hex(8)
    resources = {GPU: 1.0} if device == "gpu" else {}
    terms = Terms(assignment.name, assignment.settings, device, floor)
    try:
        _wait_for_worker(client, resources)
        client.register_plugin(Hosts(run, terms, package, TRIES * batch.patience(assignment)))
        yield Cluster(client, run, _look_at_each(client, run, resources), resources)
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.unregister_worker_plugin(plugin_name(run))
        client.close()


def _wait_for_worker(client: Client, resources: dict[str, float]) -> None:
    ends = time.monotonic() + WORKER_SECONDS
    while not _workers(client, resources):
        if time.monotonic() > ends:
            kind = "worker that declares the resource GPU (dask worker --resources GPU=1)" if resources else "worker"
            raise UsageError(f"The scheduler has had no {kind} for {WORKER_SECONDS} seconds. Start one.")
        time.sleep(0.5)


def _workers(client: Client, resources: dict[str, float]) -> list[tuple[str, int]]:
    """(address, threads) of the workers that may be used."""
    known = client.scheduler_info(n_workers=-1)["workers"]
    return [
        (address, int(facts["nthreads"]))
        for address, facts in known.items()
        if all(facts.get("resources", {}).get(name, 0) >= amount for name, amount in resources.items())
    ]


def _look_at_each(client: Client, run: str, resources: dict[str, float]) -> Ready:
    """Start a host on every worker and compare what they say. Raises UsageError naming the worker that does not fit."""
    from grader.cluster.worker import ready

    options: dict[str, Any] = {"resources": resources} if resources else {}
    asked: dict[str, Future] = {}
    told: dict[str, Ready] = {}
    ends = time.monotonic() + PROBE_SECONDS
    there = {address for address, _ in _workers(client, resources)}
    while not (told and there <= told.keys()) and time.monotonic() < ends:
        for address in there - asked.keys():
            key = f"grader-ready-{run}-{secrets.token_hex(4)}"
            asked[address] = client.submit(ready, run, workers=[address], pure=False, key=key, **options)
        time.sleep(0.1)
        there = {address for address, _ in _workers(client, resources)}  # some may have come or gone
        for address, future in list(asked.items()):
            if future.status == "error":
                raise UsageError(f"The worker {address} can't be used: {future.exception()!r}. Is grader there?")
            if future.status == "finished" and address not in told:
                told[address] = parcel.decode_ready(future.result())
            elif future.status in ("lost", "cancelled"):
                del asked[address]
    if not told:
        raise UsageError(f"No worker answered within {PROBE_SECONDS} seconds.")
    return _in_common(told)


def _in_common(told: dict[str, Ready]) -> Ready:
    first_address, first = next(iter(told.items()))
    for address, one in told.items():
        if one.fault:
            raise UsageError(f"The worker {one.fault}")
        if one.grader != grader.__version__:
            raise UsageError(f"The worker {address} has grader {one.grader}, and here is {grader.__version__}.")
        for what in ("torch", "python", "device"):
            here, there = getattr(first, what), getattr(one, what)
            if here != there:
                raise UsageError(
                    f"The workers differ, so a mark would depend on where it was made: {first_address} has {what} "
                    f"{here}, {address} has {there}."
                )
    return max(told.values(), key=lambda one: one.level)


class _Markers:
    """See `batch.Markers`."""

    def __init__(self, cluster: Cluster, plan: Plan) -> None:
        self.cluster = cluster
        self.plan = plan
        self.done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self.out: dict[str, tuple[Future, Job]] = {}
        """What has been handed out, by the key of its future."""
        self.count = 0

    def __enter__(self) -> _Markers:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.out:
            self.cluster.client.cancel([future for future, _ in self.out.values()], force=True)
        self.out.clear()

    def map(self, jobs: Iterable[Job]) -> Iterator[tuple[str, bytes | None]]:
        """(key, encoded Done) as results come back; each is stored here first. Twice as many are out as can run."""
        source = iter(jobs)
        again: list[Job] = []
        window, looked, heard = 2 * self.cluster.threads(), time.monotonic(), time.monotonic()
        while True:
            while len(self.out) < max(2, window):
                job = again.pop() if again else next(source, None)
                if job is None:
                    break
                self._hand_out(job)
            if not self.out:
                return
            if time.monotonic() - looked > REFRESH_SECONDS:
                window, looked = 2 * self.cluster.threads(), time.monotonic()
                heard = heard if not window else time.monotonic()
                if time.monotonic() - heard > WORKER_SECONDS:
                    raise GraderFault(
                        f"There has been no worker for {WORKER_SECONDS} seconds. Everything finished is kept; the same "
                        "command goes on."
                    )
            try:
                future = self.done.get(timeout=1.0)
            except queue.Empty:
                continue
            _, job = self.out.pop(future.key)
            answer = self._answer(future, job)
            if answer is None and job.tries < TRIES:
                again.append(job)
            else:
                yield job.key, answer

    def _hand_out(self, job: Job) -> None:
        from grader.cluster.worker import mark

        job.tries += 1
        self.count += 1
        run, key = self.cluster.run, f"grader-mark-{self.cluster.run}-{self.count}"
        options: dict[str, Any] = {"resources": self.cluster.resources} if self.cluster.resources else {}
        future = self.cluster.client.submit(mark, run, job.message, key=key, pure=False, **options)
        self.out[future.key] = (future, job)
        future.add_done_callback(self.done.put)

    def _answer(self, future: Future, job: Job) -> bytes | None:
        """Store what came back and say so; None when the worker was lost with it, or its marker died each time."""
        from distributed import KilledWorker

        try:
            pages = parcel.decode_pages(future.result())
        except KilledWorker:
            return None
        except (Exception, asyncio.CancelledError) as error:
            raise GraderFault(
                f"The cluster failed: {type(error).__name__}: {error}. Everything finished is kept; the same command "
                "goes on."
            ) from None
        if pages.exit_status:
            stop = GraderFault(pages.fault)
            stop.exit_status = pages.exit_status
            return batch.stopped(stop)
        if pages.fault:
            return None
        report = decode(pages.result)
        out = self.plan.out
        write(out.feedback(job.key, ".html"), pages.html)
        write(out.feedback(job.key, ".md"), pages.markdown)
        write(out.result(job.key), pages.result)
        return batch.done(report)
