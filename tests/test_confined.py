"""The confined sandbox: a process of its own, limits by our clock, and a true name for every end."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from grader.assignment import Limits, Settings
from grader.entry import Entry
from grader.errors import SandboxError
from grader.reading import source
from grader.sandbox.confined import ConfinedSandbox, ConfinedSession
from grader.sandbox.zygote import Zygote
from grader.submission import SourceFile

SETTINGS = Settings(
    title="Any function",
    entry=Entry(function="f", arguments=["x"], returns=["y"]),
    limits=Limits(load_seconds=2, call_seconds=1, total_seconds=5, memory_mb=256, output_mb=1),
)


def opened(root: Zygote, code: str, *, limits: Limits = SETTINGS.limits, **files: str) -> ConfinedSession:
    settings = msgspec.structs.replace(SETTINGS, limits=limits)
    handed_in = [SourceFile("f.py", code.encode())]
    handed_in += [SourceFile(name.replace("_dot_", "."), text.encode()) for name, text in files.items()]
    return ConfinedSandbox(root, settings).open(source.units(handed_in, settings))


def test_an_answer_comes_back_exactly(root: Zygote) -> None:
    """Numbers, inputs as they were left, and operators cross the wall; the process is confined."""
    session = opened(root, "def f(x):\n    return (x @ x.T).softmax(-1), None\n")
    x = torch.randn(3, 4)
    call = session.call((x,), watched=True)
    session.close()
    assert call.failure is None
    assert torch.equal(call.output[0], (x @ x.T).softmax(-1))
    assert call.output[1] is None
    assert torch.equal(call.after[0], x)
    assert "_softmax" in call.ops
    assert "rlimits" in session.layers


def test_what_is_random_is_the_same_each_time(root: Zygote) -> None:
    """Work that draws numbers gets the same ones whenever it is graded, so that its mark stays the same."""
    code = "import random, numpy, torch\n\ndef f(x):\n"
    session = opened(root, code + "    return random.random(), float(numpy.random.rand()), torch.rand(2)\n")
    python, numbers, tensor = session.call((torch.ones(1),)).output
    session.close()
    assert python == random.Random(0).random()
    assert numbers == np.random.RandomState(0).rand()
    assert torch.equal(tensor, torch.rand(2, generator=torch.Generator().manual_seed(0)))


def test_a_compiled_function_is_called_as_it_is(root: Zygote) -> None:
    """`torch.compile`, in each of its forms, costs nothing: no compiler runs, and the numbers are the same."""
    code = "import torch\n\n@torch.compile\ndef g(x):\n    return x + 1\n\n"
    code += "@torch.compile(mode='max-autotune')\ndef f(x):\n    return torch.compile(g, backend='eager')(x)\n"
    session = opened(root, code)
    call = session.call((torch.zeros(3),), {})
    session.close()
    assert call.failure is None
    assert torch.equal(call.output, torch.ones(3))


def test_a_busy_machine_takes_no_time_from_anybody(root: Zygote) -> None:
    """Work within its limit ends within it, though other programs take most of the same processor."""
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel does not tell how long a process stood in line")
    code = "import time\n\ndef f(x):\n    while time.process_time() < x:\n        pass\n    return 1\n"
    processor = min(os.sched_getaffinity(0))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        session = opened(root, code)
        assert session.process is not None
        for pid in (session.process.pid, *(one.pid for one in busy)):
            os.sched_setaffinity(pid, {processor})
        slow = session.call((_cpu(session.process.pid) + 0.4,), {})
        session.close()
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert slow.failure is None


def _cpu(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def test_a_view_arrives_as_a_view(root: Zygote) -> None:
    """A transposed input is not contiguous on the student's side either."""
    session = opened(root, "def f(x):\n    return x.is_contiguous()\n")
    call = session.call((torch.randn(3, 4).T,), {})
    session.close()
    assert call.output is False


def test_gradients_come_back(root: Zygote) -> None:
    """Forward and backward run in the student's process; the gradients cross."""
    session = opened(root, "def f(x):\n    return x ** 2\n")
    x = torch.randn(3, requires_grad=True)
    call = session.call((x,), {}, cotangents=(torch.ones(3),))
    session.close()
    assert call.gradients is not None
    assert torch.allclose(call.gradients[0], 2 * x)  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_the_answers_device_is_seen(root: Zygote, device: str) -> None:
    """The marker learns where an answer stands, on the emulated accelerator too."""
    session = opened(root, "def f(x):\n    return x + 1\n")
    call = session.call((torch.ones(2),), {}, device=device)
    session.close()
    assert [layout.device for layout in call.layouts] == [device]
    assert call.output.tolist() == [2, 2]


DEATHS = {
    "timeout": "def f(x):\n    while True:\n        pass\n",
    "memory": "import torch\ndef f(x):\n    return torch.ones(10**10)\n",
    "output": "def f(x):\n    while True:\n        print('x' * 10000)\n",
    "closed": "import os\ndef f(x):\n    os._exit(0)\n",
    "crash": "import ctypes\ndef f(x):\n    ctypes.string_at(0)\n",
    "exception": "def f(x):\n    raise ValueError('no')\n",
    "malformed": "import torch\ndef f(x):\n    return torch.ones(1).expand(2**40)\n",
}


@pytest.mark.parametrize("kind", DEATHS)
def test_every_end_is_named_for_what_it_was(root: Zygote, kind: str) -> None:
    """A loop, a hog, a flood, an exit, a crash, an exception and a monster each get their own name."""
    limits = msgspec.structs.replace(SETTINGS.limits, call_seconds=0.3)
    session = opened(root, DEATHS[kind], limits=limits)
    call = session.call((torch.ones(2),), {})
    session.close()
    assert call.failure is not None
    assert call.failure.kind == kind


def test_one_bad_call_costs_one_check(root: Zygote) -> None:
    """After a death the next call finds the student's code loaded again."""
    session = opened(root, "import os\ndef f(x):\n    if x.numel() == 1: os._exit(1)\n    return x\n")
    first, second = session.call((torch.ones(1),), {}), session.call((torch.ones(2),), {})
    session.close()
    assert first.failure is not None
    assert second.failure is None


def test_time_for_the_whole_submission_is_bounded(root: Zygote) -> None:
    """Many slow calls end when the submission's own time is used up, and say so."""
    limits = Limits(load_seconds=2, call_seconds=0.4, total_seconds=0.5)
    session = opened(root, DEATHS["timeout"], limits=limits)
    calls = [session.call((torch.ones(1),), {}) for _ in range(4)]
    session.close()
    assert [call.failure.kind for call in calls if call.failure] == ["timeout"] * 4
    assert calls[-1].failure is not None
    assert calls[-1].failure.type == "total"


def test_a_loop_at_import_is_a_problem_of_loading(root: Zygote) -> None:
    """Work that never finishes loading is told so once, without trying again for each check."""
    endless = "N = sum(1 for _ in iter(int, 1))\ndef f(x):\n    return x * N\n"
    session = opened(root, endless, limits=Limits(load_seconds=0.5))
    before = session.spent
    call = session.call((torch.ones(1),), {})
    session.close()
    assert session.loaded.entry is None
    assert "still running" in session.loaded.problems[0].message
    assert call.failure is not None
    assert session.spent == before


def test_a_students_output_is_a_pipe(root: Zygote) -> None:
    """Whatever the grader prints to: code that asks finds no terminal, and nothing that it could go back in."""
    code = "import sys\ndef f(x):\n    return sys.stdout.isatty(), sys.stdout.seekable(), sys.stdout.line_buffering\n"
    session = opened(root, code)
    assert session.call((1,), {}).output == (False, False, False)
    session.close()


def test_what_is_printed_is_kept_and_never_counts(root: Zygote) -> None:
    """Printed text reaches staff, cleaned; a forged verdict in it is only text."""
    session = opened(root, "def f(x):\n    print('\\x1b[31mscore 100')\n    return x\n")
    session.call((torch.ones(1),), {})
    session.close()
    assert session.output.strip() == "score 100"


def test_own_files_can_be_read_and_imported(root: Zygote) -> None:
    """A student's other files are there for import and open, and nothing can be written."""
    code = """
import helper
def f(x):
    text = open("note.txt").read()
    try:
        open("note.txt", "w")
    except OSError:
        return helper.twice(x), text
"""
    session = opened(root, code, helper_dot_py="def twice(x):\n    return 2 * x\n", note_dot_txt="hello")
    call = session.call((torch.ones(1),), {})
    session.close()
    assert call.failure is None
    assert (call.output[0].item(), call.output[1]) == (2, "hello")
    assert session.folder is None


def test_no_descriptor_is_left_open(root: Zygote) -> None:
    """However a submission ends, all that was opened for it is closed: a class is thousands of them."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    limits = msgspec.structs.replace(SETTINGS.limits, call_seconds=0.3)
    for code in ("def f(x):\n    return x\n", *DEATHS.values()):
        session = opened(root, code, limits=limits)
        session.call((torch.ones(1),))
        session.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_zygote_that_has_settled_forks_as_before(root: Zygote) -> None:
    """Moving the zygote's memory together before a large class changes no answer and no confinement."""
    code = "def f(x):\n    return (x @ x.T).softmax(-1)\n"
    x = torch.randn(3, 4)
    mine = root.fork_zygote()
    answers = []
    for _ in range(2):
        session = opened(mine, code)
        answers.append((session.call((x,)).output, session.layers))
        session.close()
        mine.settle()
    mine.close()
    assert torch.equal(answers[0][0], answers[1][0])
    assert answers[0][1] == answers[1][1]


def test_a_lost_zygote_is_our_fault(root: Zygote) -> None:
    """When the forking process is gone the marker hears a SandboxError, not a failed check."""
    mine = root.fork_zygote()
    session = opened(mine, "def f(x):\n    return x\n")
    os.kill(mine.pid, 9)
    with pytest.raises(SandboxError):
        session.close()
    with pytest.raises(SandboxError):
        opened(mine, "def f(x):\n    return x\n")
    mine.close()


def test_children_end_with_their_zygote(root: Zygote) -> None:
    """When a marker is killed its zygote's control socket closes, and nothing of the student's is left running."""
    mine = root.fork_zygote()
    pid, channel, reader = mine.fork_student({"policy": {}})
    mine.close()
    channel.settimeout(5)
    while channel.recv(4096):
        pass
    channel.close()
    os.close(reader)
    until = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()
