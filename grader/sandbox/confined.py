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
from grader.sandbox.calls import Answer, request, understand
from grader.sandbox.interface import Session
from grader.sandbox.process import KILLED, Printed, Process
from grader.sandbox.zygote import Death, Zygote
from grader.text import clean

KEPT_OUTPUT = 20_000
AHEAD_SECONDS = 0.5
"""For all that the checks ask first: dozens of times what it takes, and a small loss where it is not enough."""
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

    def __init__(self, sandbox: ConfinedSandbox, sources: Sources, *, whole: bool = False) -> None:
        self.sandbox = sandbox
        self.sources = sources
        self.whole = whole
        self.limits = sandbox.settings.limits
        self.spent = 0.0
        self.printed = Printed(KEPT_OUTPUT)
        self.folder: Path | None = None
        self.process: Process | None = None
        self.layers: tuple[str, ...] = ()
        self.deaths: list[Death] = []
        self.loaded = self._load()
        self.lost = self.process is None  # loading itself killed the child; trying again would only cost time
        self.together = not self.lost

    @property
    def output(self) -> str:
        return self.printed.cleaned()

    def calls(self, asked: Sequence[Invocation]) -> list[Call]:
        """All of them within one call's time, which is far more than they need; else one by one."""
        if len(asked) > 1 and self.together:
            made = self._without_trouble(asked, self.limits.call_seconds)
            if made:
                return made
            self.together = False
        return [call for one in asked for call in self._made([one], self.limits.call_seconds)]

    def ahead(self, asked: Sequence[Invocation]) -> list[Call]:
        """Not tried where the last call lets one expect that all of them take too long."""
        if not asked or self.process is None or self.process.spent * len(asked) > AHEAD_SECONDS:
            return []
        return self._without_trouble(asked, min(AHEAD_SECONDS, self.limits.call_seconds))

    def close(self) -> None:
        try:
            self._end()
        finally:
            if self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder = None

    def _without_trouble(self, asked: Sequence[Invocation], seconds: float) -> list[Call]:
        """These calls in one exchange, or none of them.

        Where anything at all goes wrong it is as if they had never been asked: which of them did it, and what the
        others would have given, shows in a process of their own.
        """
        spent, printed = self.spent, len(self.printed.text)
        made = self._made(asked, seconds)
        if not any(call.failure is not None and call.failure.kind != "exception" for call in made):
            return made
        self.spent = spent
        del self.printed.text[printed:]
        self._end()
        return []

    def _made(self, asked: Sequence[Invocation], seconds: float) -> list[Call]:
        """These calls in one exchange of at most `seconds`."""
        try:
            frame = request(asked, self.loaded.entry.name if self.loaded.entry else "")
        except wire.Malformed:
            if len(asked) == 1:
                raise
            got: Answer | Failure = Failure("malformed", "", "together too large to send")
        else:
            got = self._unless_killed(lambda: self._ask(frame, seconds))
        if isinstance(got, Failure):
            return [Call.of(invocation, failure=got) for invocation in asked]
        return understand(asked, got)

    def _end(self) -> None:
        if self.process is not None:
            self.process.end()
            self._buried()

    def _ask(self, frame: bytes, seconds: float) -> Answer | Failure:
        """One request to a living, loaded child within a call's time and what is left for the submission."""
        if self.lost:
            return Failure("closed", "", "")
        if self.process is None:
            before = len(self.printed.text)
            self._load()
            del self.printed.text[before:]  # what loading prints was heard the first time
        if self.process is None:
            return Failure("timeout", "total", "")
        return self._exchange(frame, seconds)

    def _exchange(self, frame: bytes, seconds: float) -> Answer | Failure:
        """Ask the process, on the submission's account of time."""
        assert self.process is not None
        left = self.limits.total_seconds - self.spent
        got = self.process.exchange(frame, min(seconds, left))
        self.spent += self.process.spent
        if isinstance(got, Failure):
            self._buried()
            if got.kind == "timeout" and seconds > left:
                return Failure("timeout", "total", "")
        return got

    def _buried(self) -> None:
        if self.process is not None and self.process.death is not None:
            self.deaths.append(self.process.death)
        self.process = None

    def _unless_killed(self, attempt: Callable[[], Answer | Failure]) -> Answer | Failure:
        """What the attempt gives; made again, as if for the first time, when somebody else killed the child.

        The kernel kills when the whole machine is short of memory, and people kill too: neither is the student's
        doing. Who kills himself, or really needs too much, does so again.
        """
        spent, printed = self.spent, len(self.printed.text)
        got = attempt()
        for _ in range(KILLED_TRIES):
            if not isinstance(got, Failure) or got.type != KILLED:
                break
            self.spent = spent
            del self.printed.text[printed:]
            got = attempt()
        return got

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

        def load() -> Answer | Failure:
            self._start()
            return self._exchange(frame, self.limits.load_seconds)

        got = self._unless_killed(load)
        if isinstance(got, Failure):
            return _lost(got, self.limits.load_seconds)
        try:
            return msgspec.convert(got[0]["loaded"], Loaded)
        except (msgspec.ValidationError, KeyError) as error:
            self.close()
            told = str(got[0].get("broken", error))
            return _lost(Failure("malformed", "", clean(told, 4000)), 0.0)

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
