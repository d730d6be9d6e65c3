"""Several calls asked for at once: each ends as it would have ended alone, whatever the others do."""

from __future__ import annotations

import msgspec
import pytest
import torch

from grader.assignment import Limits, Settings
from grader.call import Call, Invocation
from grader.entry import Entry
from grader.reading import source
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


COUNTS = "import os, time\nmade = 0\ndef f(x):\n    global made\n    made += 1\n    {}\n    return made\n"


@pytest.mark.parametrize("slowly", ["", "time.sleep(0.12)"], ids=["fast", "slow"])
def test_each_call_has_its_own_time_and_is_made_once(root: Zygote, slowly: str) -> None:
    """Calls that together take longer than one may take are no loop, and find the same state as when they are quick:
    a busy machine must not change what a function gives that remembers its calls."""
    session = opened(root, COUNTS.format(slowly))
    calls = together(session, *SIZES)
    session.close()
    assert [call.output for call in calls] == [1, 2, 3, 4]


def test_after_a_death_only_what_follows_is_asked_again(root: Zygote) -> None:
    """The answers before it stand; those after it come from a process that starts anew."""
    session = opened(root, COUNTS.format(f"if len(x) == {BAD}: os._exit(0)"))
    calls = together(session, *SIZES)
    session.close()
    assert [call.output for call in calls] == [1, 2, None, 1]


REUSES = """
buffer = None
def f(x):
    global buffer
    buffer = x.new_zeros(4) if buffer is None else buffer
    return buffer.fill_(len(x))
"""


def test_an_answer_is_what_it_was_when_its_call_ended(root: Zygote) -> None:
    """A function that gives back the same tensor each time and writes into it changes no earlier answer."""
    session = opened(root, REUSES)
    calls = together(session, *SIZES)
    session.close()
    assert [call.output.tolist() for call in calls] == [[float(size)] * 4 for size in SIZES]


def test_an_expanded_argument_is_each_calls_own(root: Zygote) -> None:
    """One number that is to be seen as several is copied for each call like any other tensor."""
    session = opened(root, "def f(x):\n    x[0] += 1\n    return x.clone()\n")
    x = torch.zeros(1).expand(3)
    calls = session.calls([Invocation((x,)), Invocation((x,))])
    session.close()
    assert [call.output.tolist() for call in calls] == [[1, 1, 1]] * 2
    assert [call.after[0].tolist() for call in calls] == [[1, 1, 1]] * 2


PRINTS = "print('x' * 800_000)"


def test_printing_too_much_is_meant_for_one_call(root: Zygote) -> None:
    """Calls that each print less than one may print are not stopped for what they printed together."""
    session = opened(root, f"def f(x):\n    {PRINTS}\n    return len(x)\n")
    calls = together(session, *SIZES)
    session.close()
    assert [call.output for call in calls] == list(SIZES)


FORGES = """
import os
from grader.sandbox import wire

def f(x):
    for number in range(3, 64):
        try:
            os.write(number, {})
        except OSError:
            pass
    return x
"""
LIES = {
    "another answer": "wire.Packer().frame(dict(output=7, outputs=0, after=[None], gradients=None, ops=None))",
    "an empty answer": "wire.Packer().frame({})",
    "noise": "b'\\xff' * 40",
    "half a frame": "wire.PREFIX.pack(100, 0)",
    "many answers": "wire.Packer().frame({}) * 100",
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_child_that_writes_answers_itself_gets_the_same_each_time(root: Zygote, lie: str) -> None:
    """Forged, surplus and broken frames end in the same answers and failures whenever they arrive."""
    limits = msgspec.structs.replace(SETTINGS.limits, call_seconds=0.2)
    ends = []
    for _ in range(4):
        session = opened(root, FORGES.format(LIES[lie]), limits)
        calls = [*together(session, *SIZES), *together(session, *SIZES)]
        session.close()
        ends.append([(call.failure and call.failure.kind, str(call.output)) for call in calls])
    assert ends == ends[:1] * 4
    assert not any(call.failure is None and call.output is None for call in calls)


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


def test_what_is_printed_around_a_death_is_heard_once(root: Zygote) -> None:
    """When the calls after a death are asked again, staff read what each of them printed once."""
    session = opened(root, f"def f(x):\n    print('size', len(x))\n    if len(x) == {BAD}: exit()\n    return x\n")
    together(session, *SIZES)
    session.close()
    assert session.output.split() == ["size", "1", "size", "2", "size", "3", "size", "4"]


def test_answers_may_not_fill_the_markers_memory(root: Zygote) -> None:
    """What the marker has to keep is bounded for the submission as a whole, and a small answer still fits."""
    limits = msgspec.structs.replace(SETTINGS.limits, call_seconds=5, memory_mb=1024)
    session = opened(root, "import torch\ndef f(x):\n    return torch.zeros(len(x) << 18)\n", limits)
    session.room = 128 << 20  # the same limit bounds the child's memory, which an allocator breaks into pieces
    calls = together(session, 30, 30, 30, 30, 31, 1)  # so many MB
    session.close()
    assert [call.failure and call.failure.kind for call in calls] == [None, None, None, None, "memory", None]


@pytest.mark.slow
def test_more_than_fits_into_one_request_or_one_reply_is_still_answered(root: Zygote) -> None:
    """Big tensors, and many of them, are sent apart when they are too much together."""
    limits = msgspec.structs.replace(SETTINGS.limits, call_seconds=5, memory_mb=2048)
    session = opened(root, "def f(x, n):\n    return [x] * n\n", limits)
    many = session.calls([Invocation((torch.ones(1), 300)) for _ in range(2)])
    large = session.calls([Invocation((torch.ones(40 << 20), 1)) for _ in range(2)])
    session.close()
    assert [len(call.output) for call in many] == [300, 300]
    assert [call.output[0].numel() for call in large] == [40 << 20, 40 << 20]
