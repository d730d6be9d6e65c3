"""The marker's side of the sandbox: deadlines by our own clock, bounded reading, and a name for every death.

One student process a submission, forked from a zygote; started again after a death, so that one bad call costs one
check. Only a whole, well-formed frame counts as an answer: an exit status, printed text or silence never does.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor

from grader.assignment import Settings
from grader.call import Call, Failure
from grader.entry import Loaded, Problem
from grader.errors import SandboxError
from grader.reading.source import Sources
from grader.sandbox import calls, confine, wire
from grader.sandbox.zygote import Death, Zygote
from grader.text import clean

START_SECONDS = 30.0
GRACE_SECONDS = 0.5
"""For a child that has closed its channel to end by itself."""
KEPT_OUTPUT = 20_000
KILLED = "SIGKILL"


class ConfinedSandbox:
    """Opens submissions in children of `zygote`. The zygote must have been split off clean."""

    def __init__(self, zygote: Zygote, settings: Settings, *, gpu: bool = False, layers: frozenset[str] | None = None):
        self.zygote = zygote
        self.settings = settings
        self.gpu = gpu
        self.layers = layers

    def open(self, sources: Sources) -> ConfinedSession:
        """Start a child and load the sources in it. Raises SandboxError when our side breaks."""
        return ConfinedSession(self, sources)


class ConfinedSession:
    """See `Session`. Frees its process and folder in `close`."""

    def __init__(self, sandbox: ConfinedSandbox, sources: Sources) -> None:
        self.sandbox = sandbox
        self.sources = sources
        self.limits = sandbox.settings.limits
        self.spent = 0.0
        self.printed = bytearray()
        self.flood = 0
        self.pid = 0
        self.channel: socket.socket | None = None
        self.reader = -1
        self.poller = select.poll()
        self.layers: tuple[str, ...] = ()
        self.deaths: list[Death] = []
        self.lost = False
        self.folder: Path | None = None
        self.loaded = self._load()
        self.lost = self.channel is None  # loading itself killed the child; trying again would only cost time

    @property
    def output(self) -> str:
        return clean(self.printed.decode("utf-8", "replace"), KEPT_OUTPUT)

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        device: str = "cpu",
        cotangents: tuple[Tensor, ...] | None = None,
        function: str = "",
    ) -> Call:
        name = function or (self.loaded.entry.name if self.loaded.entry else "")
        started = time.perf_counter()
        frame = calls.request(args, kwargs, device, cotangents, name)
        got = self._unless_killed(lambda: self._ask(frame, self.limits.call_seconds))
        base = Call(args, kwargs, device, cotangents=cotangents, seconds=time.perf_counter() - started)
        return replace(base, failure=got) if isinstance(got, Failure) else calls.understand(base, got)

    def close(self) -> None:
        self._end()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    # --- the child's life ---

    def _ask(self, frame: bytes, seconds: float) -> calls.Answer | Failure:
        """One request to a living, loaded child within `seconds` and what is left for the submission."""
        if self.channel is None and not self.lost:
            before = len(self.printed)
            self._load()
            del self.printed[before:]  # what loading prints was heard the first time
        if self.channel is None:
            return Failure("timeout", "total", "") if not self.lost else Failure("closed", "", "")
        return self._exchange(frame, seconds)

    def _unless_killed(self, attempt: Callable[[], calls.Answer | Failure]) -> calls.Answer | Failure:
        """What the attempt gives; made again, as if for the first time, when somebody else killed the child.

        The kernel kills when the whole machine is short of memory, and people kill too: neither is the student's
        doing. Who kills himself, or really needs too much, does so again.
        """
        spent, printed = self.spent, len(self.printed)
        got = attempt()
        if not isinstance(got, Failure) or got.type != KILLED:
            return got
        self.spent = spent
        del self.printed[printed:]
        return attempt()

    def _load(self) -> Loaded:
        """Start a child and load the submission in it. A death while loading is a Problem of the student's."""
        if self.limits.total_seconds <= self.spent:
            return _lost(Failure("timeout", "total", ""), self.limits.total_seconds)
        packer = wire.Packer()
        message = {
            "units": msgspec.to_builtins(self.sources.units),
            "entry": msgspec.to_builtins(self.sandbox.settings.entry),
            "files": [[path, packer.tensor(_bytes(data))] for path, data in self.sources.files.items()],
        }
        frame = packer.frame(message)

        def load() -> calls.Answer | Failure:
            self._start()
            return self._exchange(frame, self.limits.load_seconds)

        got = self._unless_killed(load)
        if isinstance(got, Failure):
            return _lost(got, self.limits.load_seconds)
        try:
            return msgspec.convert(got[0]["loaded"], Loaded)
        except (msgspec.ValidationError, KeyError) as error:
            self._end()
            told = str(got[0].get("broken", error))
            return _lost(Failure("malformed", "", clean(told, 4000)), 0.0)

    def _start(self) -> None:
        if self.sources.files and self.folder is None:
            self.folder = _lay_out(self.sources.files)
        policy: dict[str, Any] = {
            "memory_bytes": self.limits.memory_mb << 20,
            "cpu_seconds": int(self.limits.total_seconds) + 2,
            "readable": [str(self.folder)] if self.folder else [],
            "gpu": self.sandbox.gpu,
        }
        if self.sandbox.layers is not None:
            policy["layers"] = sorted(self.sandbox.layers)
        self.flood = 0
        self.pid, self.channel, self.reader = self.sandbox.zygote.fork_student({"policy": policy})
        self.channel.setblocking(False)
        self.poller = select.poll()
        self.poller.register(self.reader, select.POLLIN)
        self.poller.register(self.channel, select.POLLIN)
        got = self._exchange(b"", START_SECONDS, ours=True)
        if isinstance(got, Failure):
            raise SandboxError(f"A sandbox did not start ({got.kind} {got.message}).")
        if "ready" not in got[0]:
            self._end()
            raise SandboxError(f"A sandbox could not confine itself: {clean(str(got[0].get('fault')), 500)}.")
        self.layers = tuple(str(layer) for layer in got[0]["ready"])

    def _end(self, failure: Failure | None = None) -> Failure:
        """Kill the child, sweep what it left, and say why it ended."""
        if self.channel is None:
            return failure or Failure("closed", "", "")
        self.channel.close()
        self.channel = None
        try:
            death = self.sandbox.zygote.reap(self.pid)
            self._drain()
        finally:
            os.close(self.reader)
        confine.sweep(self.pid, self.layers)
        self.deaths.append(death)
        return failure or _named(death)

    def _exchange(self, frame: bytes, seconds: float, *, ours: bool = False) -> calls.Answer | Failure:
        """Send `frame` and read one frame back, by the marker's clock, while draining what is printed.

        `ours`: the time is the grader's (start-up), not the student's.
        """
        assert self.channel is not None
        started = time.monotonic()
        left = self.limits.total_seconds - self.spent
        deadline = started + (seconds if ours else min(seconds, left))
        pending = memoryview(frame)
        buffer = bytearray()
        try:
            while True:
                if pending:
                    pending = self._send(pending)
                wait = deadline - time.monotonic()
                if wait <= 0:
                    return self._end(Failure("timeout", "total" if seconds > left else "", ""))
                events = dict(self.poller.poll(wait * 1000 + 1))
                if self.reader in events and not self._drain():
                    self.poller.unregister(self.reader)
                if self.flood > self.limits.output_mb << 20:
                    return self._end(Failure("output", "", ""))
                if events.get(self.channel.fileno(), 0) & ~select.POLLOUT:
                    chunk = self.channel.recv(1 << 20)
                    if not chunk:
                        raise EOFError
                    buffer += chunk
                    if wire.complete(buffer):
                        return wire.parse(buffer)
        except wire.Malformed as error:
            return self._end(Failure("malformed", "", str(error)[:500]))
        except (EOFError, OSError):
            return self._end(None if _gone(self.pid) else Failure("closed", "", "closed its channel and went on"))
        finally:
            if not ours:
                self.spent += time.monotonic() - started

    def _send(self, pending: memoryview) -> memoryview:
        """Send what the child takes now; what is left is tried again when it takes more."""
        assert self.channel is not None
        try:
            left = pending[self.channel.send(pending[: 1 << 20]) :]
        except BlockingIOError:
            left = pending
        self.poller.modify(self.channel, select.POLLIN | (select.POLLOUT if left else 0))
        return left

    def _drain(self) -> bool:
        """Read what the child printed; keep the first of it. False when its end is closed."""
        try:
            while chunk := os.read(self.reader, 1 << 16):
                self.flood += len(chunk)
                self.printed += chunk[: max(0, KEPT_OUTPUT * 4 - len(self.printed))]
                if self.flood > self.limits.output_mb << 20:
                    return True
        except BlockingIOError:
            return True
        return False


def _gone(pid: int) -> bool:
    """Whether the process has ended, or does so within a moment: else our SIGKILL would be taken for its death."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        return bool(poller.poll(GRACE_SECONDS * 1000))
    finally:
        os.close(handle)


def _named(death: Death) -> Failure:
    """Why a child ended by itself, from what the kernel says."""
    if death.signal == signal.SIGXCPU:
        return Failure("timeout", "", "")
    if death.signal == signal.SIGKILL:
        return Failure("memory", KILLED, "")  # we did not kill it: the kernel's out-of-memory killer did
    if death.signal:
        return Failure("crash", signal.Signals(death.signal).name, "")
    return Failure("closed", "", f"exit status {death.exit}")


def _lost(failure: Failure, seconds: float) -> Loaded:
    """Loading ended in a death: nothing is there, and this is why."""
    message = {
        "timeout": f"Your file was still running after {seconds:g} seconds while it was being loaded, and was stopped. "
        "Look for a loop that never ends outside of your functions.",
        "memory": "Your file used too much memory while it was being loaded.",
        "output": "Your file printed too much while it was being loaded. Remove the print calls outside of functions.",
        "crash": f"Python itself crashed ({failure.type}) while your file was being loaded.",
        "closed": "Your file ended the program while it was being loaded. Remove calls such as exit() or os._exit().",
        "malformed": "Your file broke the connection to the grader while it was being loaded.",
    }.get(failure.kind, "Your file could not be loaded.")
    return Loaded(entry=None, problems=[Problem(kind=failure.kind, message=message, detail=failure.message)])


def _lay_out(files: dict[str, bytes]) -> Path:
    """The submission's other files in a folder of their own that the student's process may read."""
    folder = Path(tempfile.mkdtemp(prefix="submission-"))
    folder.chmod(0o755)
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return folder


def _bytes(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
