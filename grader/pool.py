"""A pool of marker processes: submissions go out one by one, answers come back, and a death loses nothing.

The main process forks markers, so it stays single-threaded and free of anything from `solutions/`. Each marker owns
a zygote of its own, forked by the clean root zygote. A marker that dies is replaced and its submission tried again.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import struct
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from grader.errors import GraderFault
from grader.sandbox.zygote import Zygote, close_all_but

LENGTH = struct.Struct("<I")
TRIES = 3

Body = Callable[[Zygote, "Channel"], None]
"""What a marker process does with its zygote and its channel to the pool; it returns when the channel ends."""


class Channel:
    """Whole messages over a stream socket."""

    def __init__(self, socket_: socket.socket) -> None:
        self.socket = socket_

    def send(self, data: bytes) -> None:
        self.socket.sendall(LENGTH.pack(len(data)) + data)

    def receive(self) -> bytes | None:
        """The next message; None when the other end has closed."""
        size = self._exactly(LENGTH.size)
        return None if size is None else self._exactly(LENGTH.unpack(size)[0])

    def _exactly(self, count: int) -> bytes | None:
        buffer = bytearray()
        while len(buffer) < count:
            chunk = self.socket.recv(min(count - len(buffer), 1 << 20))
            if not chunk:
                return None
            buffer += chunk
        return bytes(buffer)


@dataclass
class Job:
    """A submission on its way through the pool."""

    key: str
    message: bytes
    tries: int = 0


@dataclass
class Worker:
    """One living marker process, and what it is busy with."""

    pid: int
    channel: Channel
    job: Job | None = None
    since: float = 0.0


class Pool:
    """`size` marker processes that run `body`. Use as a context manager; leaving it ends them all."""

    def __init__(self, size: int, root: Zygote, body: Body, *, patience: float) -> None:
        """`patience`: seconds after which a marker that has not answered is stuck (our fault) and is replaced."""
        self.root = root
        self.body = body
        self.patience = patience
        self.selector = selectors.DefaultSelector()
        self.workers: dict[int, Worker] = {}
        self.size = size

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in list(self.workers.values()):
            self._end(worker)
        self.selector.close()

    def map(self, jobs: Iterable[Job]) -> Iterator[tuple[str, bytes | None]]:
        """(key, answer) as each job is done; None for one whose marker died `TRIES` times."""
        source = iter(jobs)
        again: deque[Job] = deque()
        while True:
            self._hand_out(source, again)
            if not any(worker.job for worker in self.workers.values()):
                return
            for selected, _ in self.selector.select(timeout=1.0):
                worker = self.workers[selected.data]
                answer = self._answer(worker)
                job = worker.job
                if answer is not None and job is not None:
                    worker.job = None
                    yield job.key, answer
                else:
                    yield from self._bury(worker, again)
            for worker in [w for w in self.workers.values() if w.job and time.monotonic() - w.since > self.patience]:
                yield from self._bury(worker, again)

    def _hand_out(self, source: Iterator[Job], again: deque[Job]) -> None:
        while len(self.workers) < self.size or any(worker.job is None for worker in self.workers.values()):
            job = again.popleft() if again else next(source, None)
            if job is None:
                return
            worker = next((worker for worker in self.workers.values() if worker.job is None), None) or self._start()
            job.tries += 1
            worker.job, worker.since = job, time.monotonic()
            with contextlib.suppress(OSError):  # it has just died: the selector will tell
                worker.channel.send(job.message)

    def _answer(self, worker: Worker) -> bytes | None:
        try:
            return worker.channel.receive()
        except OSError:
            return None

    def _bury(self, worker: Worker, again: deque[Job]) -> Iterator[tuple[str, None]]:
        """Replace a dead or stuck marker; its job is tried again, unless it has already cost several markers."""
        job = worker.job
        self._end(worker)
        if job is None:
            return
        if job.tries < TRIES:
            again.append(job)
        else:
            yield job.key, None

    def _start(self) -> Worker:
        ours, theirs = socket.socketpair()
        zygote = self.root.fork_zygote()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._be_marker(zygote, theirs)
        theirs.close()
        zygote.control.close()
        worker = Worker(pid, Channel(ours))
        self.workers[pid] = worker
        self.selector.register(ours, selectors.EVENT_READ, pid)
        return worker

    def _be_marker(self, zygote: Zygote, channel: socket.socket) -> NoReturn:
        """The marker's whole life. It keeps no descriptor but its own, so that every closing end is noticed."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: main stops the run, a marker just loses its channel
            close_all_but(zygote.control.fileno(), channel.fileno())
            self.body(zygote, Channel(channel))
        except GraderFault as fault:
            print(f"grader: a marker stopped: {fault}", file=sys.stderr, flush=True)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):
                sys.stderr.flush()
            os._exit(0)

    def _end(self, worker: Worker) -> None:
        with contextlib.suppress(KeyError):
            self.selector.unregister(worker.channel.socket)
        worker.channel.socket.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        os.waitpid(worker.pid, 0)
        del self.workers[worker.pid]
