"""The part of a run that lives inside a Dask worker: it keeps warm hosts and hands them submissions.

Never imports torch and never forks: a worker has threads. A host is a process of its own (`host`), one for
each of the worker's threads at most. The secret is in this process's memory and in the hosts', nowhere else.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from grader import clean_start
from grader.cluster import parcel
from grader.cluster.parcel import Package, Pages, Ready, Terms
from grader.errors import GraderFault
from grader.pool import TRIES, Channel

START_SECONDS = 180.0
ENDED = "The run has ended."


class Host:
    """One warm marking process. Raises GraderFault when it can't be started or is of no use."""

    def __init__(self, terms: Terms, package: Package, patience: float, scratch: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="grader-", dir=scratch)  # private, and gone when Dask cleans up
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-m", "grader.cluster.host", str(theirs.fileno()), self.folder],
                pass_fds=[theirs.fileno()],
                env=clean_start.clean_environment(),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.channel = Channel(ours)
        ours.settimeout(START_SECONDS)
        try:
            self.channel.send(parcel.encode(terms))
            message = self.channel.receive()
            if message is None:
                raise GraderFault("The marking process ended while it started; its messages are in the worker's log.")
            self.ready = parcel.decode_ready(message)
            if self.ready.fault:
                raise GraderFault(self.ready.fault)
            self.channel.send(parcel.encode(package))
        except OSError as error:
            self.close()
            raise GraderFault(f"The marking process did not start: {error}.") from None
        except BaseException:
            self.close()
            raise
        ours.settimeout(patience)

    @property
    def ended(self) -> bool:
        """Whether the process is gone: it ends by itself when it has had nothing to do for long."""
        return self.process.poll() is not None

    def mark(self, message: bytes) -> bytes | None:
        """The encoded Pages of an encoded Submission; None when the process has died or is stuck."""
        try:
            self.channel.send(message)
            return self.channel.receive()
        except OSError:
            return None

    def close(self) -> None:
        """End it; what it has forked ends with it. May be called while another thread waits for an answer."""
        with contextlib.suppress(OSError):
            self.channel.socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        self.process.kill()
        self.process.wait()
        self.channel.socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Hosts(WorkerPlugin):
    """The hosts of one run on one worker. Sent once to every worker, also to those that join later."""

    def __init__(self, run: str, terms: Terms, package: Package, patience: float) -> None:
        self.name = plugin_name(run)
        self.terms = terms
        self.package = package
        self.patience = patience

    def setup(self, worker: Worker) -> None:
        self.lock = threading.Lock()
        self.address = worker.address
        self.scratch = worker.local_directory
        self.idle: list[Host] = []
        self.busy: set[Host] = set()
        self.closed = False

    def teardown(self, worker: Worker) -> None:
        with self.lock:
            self.closed = True
            hosts = [*self.idle, *self.busy]
            self.idle.clear()
        closing = [threading.Thread(target=host.close) for host in hosts]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()

    def ready(self) -> Ready:
        """What this machine is like; leaves a warm host behind. Its `fault` says why it is of no use."""
        try:
            host = self._take()
        except GraderFault as error:
            return Ready(fault=f"{self.address}: {error}")
        self._put_back(host)
        return host.ready

    def mark(self, message: bytes) -> bytes:
        """The encoded Pages of an encoded Submission. A host that dies is replaced and the submission tried again."""
        for _ in range(TRIES):
            try:
                host = self._take()
            except GraderFault as error:
                return parcel.encode(Pages(fault=f"{self.address}: {error}", exit_status=error.exit_status))
            answer = host.mark(message)
            if answer is not None:
                self._put_back(host)
                return answer
            with self.lock:
                self.busy.discard(host)
            host.close()
        return parcel.encode(Pages(fault="The marking process died each time."))

    def _take(self) -> Host:
        """A warm host that lives, or else a new one: those that ended while nothing came cost a submission no try."""
        with self.lock:
            if self.closed:
                raise GraderFault(ENDED)
            gone = [host for host in self.idle if host.ended]
            self.idle = [host for host in self.idle if host not in gone]
            host = self.idle.pop() if self.idle else None
            if host is not None:
                self.busy.add(host)
        for old in gone:
            old.close()
        if host is not None:
            return host
        host = Host(self.terms, self.package, self.patience, self.scratch)
        with self.lock:
            self.busy.add(host)
            ended = self.closed
        if ended:
            host.close()
            raise GraderFault(ENDED)
        return host

    def _put_back(self, host: Host) -> None:
        with self.lock:
            self.busy.discard(host)
            if not self.closed:
                self.idle.append(host)
                return
        host.close()

    def __getstate__(self) -> dict[str, Any]:
        names = ("name", "terms", "package", "patience")
        return {name: self.__dict__[name] for name in names}


def plugin_name(run: str) -> str:
    return f"grader-{run}"


def ready(run: str) -> bytes:
    """A task: the encoded Ready of the worker that runs it."""
    return parcel.encode(_hosts(run).ready())


def mark(run: str, message: bytes) -> bytes:
    """A task: the encoded Pages of an encoded Submission."""
    return _hosts(run).mark(message)


def _hosts(run: str) -> Hosts:
    hosts = get_worker().plugins[plugin_name(run)]
    assert isinstance(hosts, Hosts)
    return hosts
