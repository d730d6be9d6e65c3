"""The confined sandbox, marker's side: a submission's session over student processes that may die.

One process a submission, forked from a zygote and started again after a death, so that one bad call costs one check.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor

from grader.assignment import Settings
from grader.call import Call, Failure, Invocation
from grader.entry import Loaded, Problem
from grader.reading.source import Sources
from grader.sandbox import leftovers, wire
from grader.sandbox.interface import Session
from grader.sandbox.process import KILLED, Printed, Process
from grader.sandbox.questions import Questions
from grader.sandbox.zygote import Death, Zygote
from grader.text import clean

KEPT_OUTPUT = 20_000
Exchanged = tuple[list[bytearray], Failure | None]
"""The replies that came, and why the next one did not."""
KILLED_TRIES = 3
"""How often an attempt is made again when the child was killed from outside."""


class ConfinedSandbox:
    """Opens submissions in children of `zygote`. The zygote must have been split off clean."""

    def __init__(self, zygote: Zygote, settings: Settings, *, gpu: bool = False, layers: frozenset[str] | None = None):
        self.zygote = zygote
        self.settings = settings
        self.gpu = gpu
        self.layers = layers

    def open(self, sources: Sources, *, whole: bool = False) -> ConfinedSession:
        """Start a child and load the sources in it. Raises SandboxError when our side breaks."""
        return ConfinedSession(self, sources, whole=whole)


class ConfinedSession(Session):
    """See `Session`. Frees its process and folder in `close`."""

    together = True

    def __init__(self, sandbox: ConfinedSandbox, sources: Sources, *, whole: bool = False) -> None:
        self.sandbox = sandbox
        self.sources = sources
        self.whole = whole
        self.limits = sandbox.settings.limits
        self.spent = 0.0
        self.room = self.limits.memory_mb << 20
        """Bytes that further answers may take: the marker keeps them all until the submission is marked."""
        self.printed = Printed(KEPT_OUTPUT)
        self.folder: Path | None = None
        self.process: Process | None = None
        self.layers: tuple[str, ...] = ()
        self.deaths: list[Death] = []
        self.loaded = self._load()
        self.lost = self.process is None  # loading itself killed the child; trying again would only cost time

    @property
    def output(self) -> str:
        return self.printed.cleaned()

    def calls(self, asked: Sequence[Invocation]) -> list[Call]:
        """One request and its replies; what follows a death is asked again of the next process, and only that."""
        made: list[Call] = []
        left = Questions.of(asked)
        while left:
            made += self._made(left)
            left = Questions(asked[len(made) :])
        return made

    def close(self) -> None:
        try:
            self._end()
        finally:
            if self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder = None

    def _made(self, asked: Questions) -> list[Call]:
        """The first of these calls, up to one that ends the process. Raises Malformed when that can't be sent."""
        try:
            frame = asked.frame(self.loaded.entry.name if self.loaded.entry else "")
        except wire.Malformed:
            if len(asked) == 1:
                raise
            return self._made(Questions(asked[: len(asked) // 2]))  # too much for one request
        got, failure = self._unless_killed(lambda: self._ask(frame, len(asked)))
        made = asked.answered(got)
        if failure is not None:
            made.append(Call.of(asked[len(made)], failure=failure))
        return made

    def _end(self) -> None:
        if self.process is not None:
            self.process.end()
            self._buried()

    def _ask(self, frame: bytes, replies: int) -> Exchanged:
        """One request to a living, loaded child, each call within its time and what is left for the submission."""
        if self.lost:
            return [], Failure("closed", "", "")
        if self.process is None:
            before = len(self.printed.text)
            self._load()
            del self.printed.text[before:]  # what loading prints was heard the first time
        if self.process is None:
            return [], Failure("timeout", "total", "")
        return self._exchange(frame, self.limits.call_seconds, replies)

    def _exchange(self, frame: bytes, seconds: float, replies: int) -> Exchanged:
        """Ask the process, on the submission's account of time and memory."""
        assert self.process is not None
        left = self.limits.total_seconds - self.spent
        got, failure = self.process.exchange(frame, seconds, replies=replies, left=left, room=self.room)
        self.spent += self.process.spent
        self.room -= self.process.received
        if failure is not None:
            self._buried()
        return got, failure

    def _buried(self) -> None:
        if self.process is not None and self.process.death is not None:
            self.deaths.append(self.process.death)
        self.process = None

    def _unless_killed(self, attempt: Callable[[], Exchanged]) -> Exchanged:
        """What the attempt gives; made again, as if for the first time, when somebody else killed the child. What was
        answered before that is kept, and the others are left to be asked again.

        The kernel kills when the whole machine is short of memory, and people kill too: neither is the student's
        doing. Who kills himself, or really needs too much, does so again.
        """
        spent, printed = self.spent, len(self.printed.text)
        got, failure = attempt()
        for _ in range(KILLED_TRIES):
            if failure is None or failure.type != KILLED:
                break
            if got:
                return got, None
            self.spent = spent
            del self.printed.text[printed:]
            got, failure = attempt()
        return got, failure

    def _load(self) -> Loaded:
        """Start a child and load the submission in it. A death while loading is a Problem of the student's."""
        if self.limits.total_seconds <= self.spent:
            return _lost(Failure("timeout", "total", ""), self.limits.total_seconds)
        packer = wire.Packer()
        message = {
            "units": msgspec.to_builtins(self.sources.units),
            "entry": msgspec.to_builtins(self.sandbox.settings.entry),
            "whole": self.whole,
            "files": [[path, packer.tensor(_bytes(data))] for path, data in self.sources.files.items()],
        }
        frame = packer.frame(message)

        def load() -> Exchanged:
            self._start()
            return self._exchange(frame, self.limits.load_seconds, 1)

        got, failure = self._unless_killed(load)
        if failure is not None:
            return _lost(failure, self.limits.load_seconds)
        told: dict[str, Any] = {}
        try:
            told, _, _ = wire.parse(got[0])
            return msgspec.convert(told["loaded"], Loaded)
        except (wire.Malformed, msgspec.ValidationError, KeyError) as error:
            self.close()
            return _lost(Failure("malformed", "", clean(str(told.get("broken", error)), 4000)), 0.0)

    def _start(self) -> None:
        if self.sources.files and self.folder is None:
            self.folder = leftovers.lay_out(self.sources.files)
        policy: dict[str, Any] = {
            "memory_bytes": self.limits.memory_mb << 20,
            "cpu_seconds": int(self.limits.total_seconds) + 2,
            "readable": [str(self.folder)] if self.folder else [],
            "gpu": self.sandbox.gpu,
        }
        if self.sandbox.layers is not None:
            policy["layers"] = sorted(self.sandbox.layers)
        self.process = Process(self.sandbox.zygote, policy, self.printed, self.limits.output_mb << 20)
        self.layers = self.process.layers


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


def _bytes(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
