"""What a marker process does all its life: take submissions from its channel, mark them, answer. The only code of a run
that touches `solutions/`."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grader import staff
from grader.assignment import Assignment
from grader.errors import GraderError, SandboxError
from grader.marker import Marker
from grader.pages.render import Renderer
from grader.pool import Channel
from grader.reporting import Circumstances
from grader.results import Report
from grader.sandbox import leftovers
from grader.sandbox.confined import ConfinedSandbox
from grader.sandbox.zygote import Zygote
from grader.submission import Submission

_decode = msgspec.msgpack.Decoder(Submission).decode


@dataclass(frozen=True)
class Service:
    """A `pool.Body`: called in a marker process with its zygote and its channel."""

    assignment: Assignment
    circumstances: Circumstances
    real_device: bool
    template_dirs: tuple[Path, ...]
    answer: Callable[[Report, Renderer], bytes]
    """What is sent back for a report. May store it first."""
    fault: Callable[[GraderError], bytes]
    """What is sent back when nothing can go on: a wrong configuration, a full disk."""

    def __call__(self, zygote: Zygote, channel: Channel) -> None:
        inbox = Inbox(channel)
        try:
            leftovers.sweep(self.assignment.settings.limits.total_seconds)
            renderer = Renderer(self.template_dirs)
            sandbox = ConfinedSandbox(zygote, self.assignment.settings, gpu=self.real_device)
            marker = Marker(self.assignment, staff.load(self.assignment), sandbox, self.circumstances)
            gc.freeze()  # a full collection walks all of torch, a tenth of a second for whoever's turn it is
            marker.run(inbox, lambda report: inbox.answer(self.answer(report, renderer)))
        except SandboxError:
            raise  # main sees this marker die, starts another, and tries the submission again
        except ConnectionError:
            pass  # main has gone
        except GraderError as error:
            with contextlib.suppress(ConnectionError):
                inbox.answer(self.fault(error))


class Inbox:
    """The submissions that come over a channel, to be iterated over once; each is answered before the next comes."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.unanswered = False

    def __iter__(self) -> Iterator[Submission]:
        while (message := self.channel.receive()) is not None:
            self.unanswered = True
            yield _decode(message)

    def answer(self, data: bytes) -> None:
        """Answer the submission at hand; when nothing could even begin, the first that comes."""
        if not self.unanswered:
            self.channel.receive()
        self.channel.send(data)
        self.unanswered = False
