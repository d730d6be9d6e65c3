"""One student's process as the marker sees it: started, asked, and ended, by the marker's clock.

Only a whole, well-formed frame counts as an answer: an exit status, printed text or silence never does. Every byte is
bounded before it is kept, and every death gets its true name.
"""

from __future__ import annotations

import math
import os
import select
import signal
import time
from typing import Any

from grader.call import Failure
from grader.errors import SandboxError
from grader.sandbox import confine, wire
from grader.sandbox.clock import Clock
from grader.sandbox.zygote import Death, Zygote
from grader.text import clean

START_SECONDS = 30.0
GATHERING = 0.002
"""Seconds for further replies to gather: to be woken up by each would cost more than it took to make."""
GRACE_SECONDS = 0.5
"""For a child that has closed its channel to end by itself."""
KILLED = "SIGKILL"


class _NoRoom(Exception):
    """A reply is larger than what may still be kept."""


class Printed:
    """What a submission prints, over all of its processes: the first of it is kept."""

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self.text = bytearray()

    def add(self, chunk: bytes) -> None:
        self.text += chunk[: max(0, 4 * self.kept - len(self.text))]

    def cleaned(self) -> str:
        return clean(self.text.decode("utf-8", "replace"), self.kept)


class Process:
    """A confined child of `zygote`, ready to be asked. Raises SandboxError when it can't be started or confined."""

    def __init__(self, zygote: Zygote, policy: dict[str, Any], printed: Printed, output_bytes: int) -> None:
        self.zygote = zygote
        self.printed = printed
        self.output_bytes = output_bytes
        self.flood = 0
        """Bytes printed since the last reply."""
        self.spent = 0.0
        """Seconds that the last exchange took, by the clock that stands still in a queue."""
        self.received = 0
        """Bytes of the last exchange's replies."""
        self.unread = bytearray()
        """What came over the channel and is no whole reply yet, or one that nobody has asked for yet."""
        self.ended = False
        self.death: Death | None = None
        self.layers: tuple[str, ...] = ()
        self.pid, self.channel, self.reader = zygote.fork_student({"policy": policy})
        self.clock = Clock(self.pid)
        self.channel.setblocking(False)
        self.poller = select.poll()
        self.poller.register(self.reader, select.POLLIN)
        self.poller.register(self.channel, select.POLLIN)
        got, failure = self.exchange(b"", START_SECONDS)
        if failure is not None:
            raise SandboxError(f"A sandbox did not start ({failure.kind} {failure.message}).")
        message, _, _ = wire.parse(got[0])
        if "ready" not in message:
            self.end()
            raise SandboxError(f"A sandbox could not confine itself: {clean(str(message.get('fault')), 500)}.")
        self.layers = tuple(str(layer) for layer in message["ready"])

    def exchange(
        self, frame: bytes, seconds: float, *, replies: int = 1, left: float = math.inf, room: float = math.inf
    ) -> tuple[list[bytearray], Failure | None]:
        """Send `frame` and read so many replies, whole frames that are not looked into: each within `seconds` of the
        last, all within `left` seconds and `room` bytes; drain what is printed. The replies that came, and what the
        next one failed of: after that the process is gone.

        Time that it stood in line for a processor does not count.
        """
        got: list[bytearray] = []
        self.spent = self.flood = self.received = 0
        self.clock.start()
        failure = self._exchanged(frame, seconds, got, replies, left, room)
        if not self.ended:
            self._lap()
        return got, failure

    def _exchanged(
        self, frame: bytes, seconds: float, got: list[bytearray], replies: int, left: float, room: float
    ) -> Failure | None:
        pending = memoryview(frame)
        allowed = min(seconds, left)
        deadline = time.monotonic() + allowed
        try:
            while pending or len(got) < replies:
                if pending:
                    pending = self._send(pending)
                if self._parted(got, replies, room):
                    self._lap()
                    if len(got) < replies:
                        time.sleep(GATHERING)
                    allowed = min(seconds, left - self.spent)
                    deadline = time.monotonic() + allowed
                    continue
                if self.flood > self.output_bytes:
                    return self.end(Failure("output", "", ""))
                wait = deadline - time.monotonic()
                if wait <= 0:
                    wait = allowed - self.clock.spent()
                    deadline = time.monotonic() + wait
                if wait <= 0:
                    return self.end(Failure("timeout", "" if allowed == seconds else "total", ""))
                events = dict(self.poller.poll(wait * 1000 + 1))
                if self.reader in events and not self._drain():
                    self.poller.unregister(self.reader)
                if events.get(self.channel.fileno(), 0) & ~select.POLLOUT:
                    self._receive()
        except wire.Malformed as error:
            return self.end(Failure("malformed", "", str(error)[:500]))
        except _NoRoom:
            return self.end(Failure("memory", "answers", ""))
        except (EOFError, OSError):
            return self.end(None if _gone(self.pid) else Failure("closed", "", "closed its channel and went on"))
        return None

    def _parted(self, got: list[bytearray], replies: int, room: float) -> bool:
        """Move whole replies to `got`, as many as are asked for. What is over stays: a child that sends more than it
        is asked for hears its own surplus as the next answer, at whatever moment each of them arrived."""
        before = len(got)
        while len(got) < replies and (size := wire.whole(self.unread)):
            if self.received + size > room:
                raise _NoRoom
            self.received += size
            got.append(self.unread[:size])
            self.unread = self.unread[size:]
        return len(got) > before

    def _receive(self) -> None:
        chunk = self.channel.recv(wire.CHUNK)
        if not chunk:
            raise EOFError
        self.unread += chunk

    def _lap(self) -> None:
        """A call has ended, and what counts for one call counts anew."""
        self.spent += self.clock.lap()
        self.flood = 0

    def end(self, failure: Failure | None = None) -> Failure:
        """Kill the child, sweep what it left, and say why it ended: `failure`, or what the kernel tells."""
        if not self.ended:
            self.ended = True  # first of all: when the zygote is gone, reaping raises, and must not be tried again
            self.spent += self.clock.spent()
            self.clock.close()
            self.channel.close()
            try:
                self.death = self.zygote.reap(self.pid)
                self._drain()
            finally:
                os.close(self.reader)
            confine.sweep(self.pid, self.layers)
        return failure or (_named(self.death) if self.death else Failure("closed", "", ""))

    def _send(self, pending: memoryview) -> memoryview:
        """Send what the child takes now; what is left is tried again when it takes more."""
        try:
            left = pending[self.channel.send(pending[: 1 << 20]) :]
        except BlockingIOError:
            left = pending
        self.poller.modify(self.channel, select.POLLIN | (select.POLLOUT if left else 0))
        return left

    def _drain(self) -> bool:
        """Read some of what the child printed; keep the first of it. False when its end is closed.

        Only some: a reply may have come, and what is printed after that is the next call's.
        """
        try:
            chunk = os.read(self.reader, 1 << 16)
        except BlockingIOError:
            return True
        self.flood += len(chunk)
        self.printed.add(chunk)
        return bool(chunk)


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
