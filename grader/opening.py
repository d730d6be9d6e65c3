"""How work is opened, for the marker and for the public checks alike: with what its function seems to need, and with
all of it where only that works.

A function may need what no name in it leads to: a registry that decorators fill, a method given to a library's class,
a definition made by `exec`. To run everything from the start would train and download.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from grader.call import Call
from grader.diagnosis.contract import Verdict
from grader.reading.source import Sources
from grader.sandbox.interface import Sandbox, Session

Found = TypeVar("Found")
Probe = Callable[[Session], Verdict]
Try = Callable[[Session, Verdict], tuple[Found, list[Call]]]


@dataclass(frozen=True)
class Tried(Generic[Found]):
    """Opened work, and what came of it."""

    session: Session
    verdict: Verdict
    found: Found
    calls: list[Call]


@contextmanager
def tried(sandbox: Sandbox, sources: Sources, probe: Probe, attempt: Try[Found]) -> Iterator[Tried[Found]]:
    """What `attempt` finds in the opened work, with the calls that it made; the work stays open as long as the block.

    The attempt is made twice where the probe saw nothing wrong, because it has no examples to call with, and then
    nothing but exceptions came of the calls: on all of the work they may end otherwise.
    """
    with ExitStack() as stack:
        first = _opened(sandbox, sources, probe, stack)
        found = Tried(*first, *attempt(*first))
        if not found.verdict.stuck and found.session.loaded.partial and _nothing_but_exceptions(found.calls):
            whole = sandbox.open(sources, whole=True)
            stack.callback(whole.close)
            verdict = probe(whole)
            again = Tried(whole, verdict, *attempt(whole, verdict))
            if any(call.failure is None for call in again.calls):
                found = again
        yield found


def _opened(sandbox: Sandbox, sources: Sources, probe: Probe, stack: ExitStack) -> tuple[Session, Verdict]:
    session = sandbox.open(sources)
    stack.callback(session.close)
    verdict = probe(session)
    if not (verdict.stuck and session.loaded.partial):
        return session, verdict
    whole = sandbox.open(sources, whole=True)
    stack.callback(whole.close)
    other = probe(whole)
    if not other.better(verdict):
        whole.close()
        return session, verdict
    session.close()
    return whole, other


def _nothing_but_exceptions(calls: list[Call]) -> bool:
    """Whether there were calls, and each ended in an exception of the student's code."""
    return bool(calls) and all(call.failure is not None and call.failure.kind == "exception" for call in calls)
