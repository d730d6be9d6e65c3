"""Several calls asked for at once: each ends as it would have ended alone, whatever the others do."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
import torch

from grader.assignment import Limits, Settings
from grader.call import Call, Invocation
from grader.entry import Entry
from grader.reading import source
from grader.sandbox import zygote
from grader.sandbox.child import StudentProcess
from grader.sandbox.confined import ConfinedSandbox, ConfinedSession
from grader.sandbox.zygote import Zygote
from grader.submission import SourceFile

SETTINGS = Settings(
    title="Any function",
    entry=Entry(function="f", arguments=["x"], returns=["y"]),
    limits=Limits(load_seconds=2, call_seconds=0.3, total_seconds=10, memory_mb=256, output_mb=1),
)
SIZES = (1, 2, 3, 4)
BAD = 3
"""The size that the functions below take badly."""


@pytest.fixture(scope="module")
def root() -> Iterator[Zygote]:
    body = StudentProcess(from_scratch=[], trains=False, accelerator_name="emulated")
    started = zygote.start(body.warm, body)
    yield started
    started.close()


def opened(root: Zygote, code: str, limits: Limits = SETTINGS.limits) -> ConfinedSession:
    settings = msgspec.structs.replace(SETTINGS, limits=limits)
    return ConfinedSandbox(root, settings).open(source.units([SourceFile("f.py", code.encode())], settings))


def together(session: ConfinedSession, *sizes: int) -> list[Call]:
    return session.calls([Invocation((torch.arange(float(size)),)) for size in sizes])


ENDS = {
    "exception": "raise ValueError('no')",
    "closed": "import os; os._exit(0)",
    "crash": "import os; os.kill(os.getpid(), 11)",
    "timeout": "while True: pass",
    "output": "print('x' * 5_000_000)",
    "memory": "y = [0] * (1 << 30)",
    "malformed": "return torch.ones(1).to_sparse()",
}


@pytest.mark.parametrize("kind", sorted(ENDS))
def test_one_bad_call_leaves_the_others_their_answers(root: Zygote, kind: str) -> None:
    """An end of any kind is that call's own; those before and after it in the same request give their numbers."""
    session = opened(
        root, f"import torch\ndef f(x):\n    if len(x) == {BAD}:\n        {ENDS[kind]}\n    return 2 * x\n"
    )
    calls = together(session, *SIZES)
    session.close()
    assert [call.failure and call.failure.kind for call in calls] == [None, None, kind, None]
    for size, call in zip(SIZES, calls, strict=True):
        if size != BAD:
            assert torch.equal(call.output, 2 * torch.arange(float(size)))


def test_a_call_that_is_slow_alone_is_no_loop_in_company(root: Zygote) -> None:
    """Calls that together take longer than one may take are each given their own time."""
    session = opened(root, "import time\ndef f(x):\n    time.sleep(0.12)\n    return x\n")
    calls = together(session, *SIZES)
    session.close()
    assert [call.failure for call in calls] == [None] * 4


def test_what_one_call_does_to_its_arguments_no_other_call_sees(root: Zygote) -> None:
    """A tensor that several calls share is sent once, and each call gets a copy of its own."""
    session = opened(root, "def f(x, y):\n    x += 1\n    return x + y\n")
    x = torch.zeros(2)
    calls = session.calls(
        [Invocation((x, x)), Invocation((x,), {"y": torch.ones(2)}), Invocation((x, x), device="gpu")]
    )
    session.close()
    assert [call.output.tolist() for call in calls] == [[1, 1], [2, 2], [1, 1]]
    for call in calls:
        assert call.after[0].tolist() == [1, 1]
        assert call.after[1].tolist() == call.inputs[1].tolist()


def test_what_a_failed_attempt_printed_is_not_heard_twice(root: Zygote) -> None:
    """When calls are made again one by one, staff read what was printed once."""
    session = opened(root, f"def f(x):\n    print('size', len(x))\n    if len(x) == {BAD}: exit()\n    return x\n")
    together(session, *SIZES)
    session.close()
    assert session.output.split() == ["size", "1", "size", "2", "size", "3", "size", "4"]


@pytest.mark.slow
def test_more_than_fits_into_one_request_or_one_reply_is_still_answered(root: Zygote) -> None:
    """Big tensors, and many of them, are sent apart when they are too much together."""
    limits = msgspec.structs.replace(SETTINGS.limits, call_seconds=5, memory_mb=2048)
    session = opened(root, "def f(x, n):\n    return [x] * n\n", limits)
    many = session.calls([Invocation((torch.ones(1), 300)) for _ in range(2)])
    session.together = True
    large = session.calls([Invocation((torch.ones(40 << 20), 1)) for _ in range(2)])
    session.close()
    assert [len(call.output) for call in many] == [300, 300]
    assert [call.output[0].numel() for call in large] == [40 << 20, 40 << 20]
