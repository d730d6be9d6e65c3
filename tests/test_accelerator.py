from __future__ import annotations

import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from grader import devices
from grader.diagnosis.crash_kinds import KINDS
from grader.sandbox import accelerator
from grader.sandbox.ops import Recorder
from tests.attention_programs import LEFT_ON_CPU, RIGHT, WRONG, source
from tests.device_behaviours import BEHAVIOURS, Behaviour, run

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _installed() -> None:
    accelerator.install()


def student(program: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile(source(program), "attention.py", "exec"), names)
    return names["attention"]


def inputs(dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Q (2, 3, 5, 4) and K, V (2, 3, 5, 4), (2, 3, 5, 6), transposed views so that strides matter; a (5, 5) mask."""
    made = torch.Generator().manual_seed(3)
    shapes = ((2, 5, 3, 4), (2, 5, 3, 4), (2, 5, 3, 6))
    tensors = [torch.randn(shape, generator=made).to(dtype).transpose(1, 2) for shape in shapes]
    return [*(tensor.requires_grad_() for tensor in tensors), torch.ones(5, 5).tril()]


def answer(function: Callable[..., Any], place: Callable[[Tensor], Tensor], dtype: torch.dtype) -> list[Tensor]:
    """The output, the weights, and the gradients to Q, K and V."""
    Q, K, V, mask = (place(tensor) for tensor in inputs(dtype))
    output, weights = function(Q, K, V, mask)
    gradients = torch.autograd.grad(output.pow(2).sum() + weights.sin().sum(), (Q, K, V))
    return [output, weights, *gradients]


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.name)
def test_behaviour(behaviour: Behaviour) -> None:
    """The emulated accelerator does what the table of device behaviours says, with the CPU's numbers."""
    with accelerator.emulate():
        seen = run(behaviour, accelerator.to_device)
    expected = behaviour.emulated or behaviour.real
    assert seen.word == expected, repr(seen.value)
    if behaviour.numbers and expected != "refused":
        wanted = run(behaviour, lambda tensor: tensor).value
        if isinstance(wanted, Tensor):
            seen_there = accelerator.to_host(seen.value)
            torch.testing.assert_close(seen_there, wanted.detach(), rtol=0, atol=0, equal_nan=True)
        else:
            assert seen.value == wanted


def test_the_documentation_counts_the_behaviours() -> None:
    """The documentation says how many behaviours are known, and how many of them differ."""
    differ = sum(bool(behaviour.emulated) for behaviour in BEHAVIOURS)
    text = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    assert f"| {len(BEHAVIOURS)}, of which {differ} differ" in text


def test_behaviours_on_a_real_accelerator() -> None:
    """A real accelerator does what the table says, where this machine has one."""
    found = devices.detect()
    if found.emulated:
        pytest.skip(f"no real accelerator: {found.reason}")
    script = "import sys; from tests.device_behaviours import main; sys.exit(main(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", script, found.name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_accepted(name: str, dtype: torch.dtype) -> None:
    """A right implementation gives on the device, bit for bit, the outputs and gradients that it gives on the CPU."""
    function = student(RIGHT[name])
    expected = answer(function, lambda tensor: tensor, dtype)
    with accelerator.emulate():
        seen = answer(function, accelerator.to_device, dtype)
    assert all(accelerator.is_emulated(tensor) for tensor in seen)
    for there, here in zip(seen, expected, strict=True):
        assert there.dtype == here.dtype
        assert torch.equal(accelerator.to_host(there), here.detach())


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_are_refused(name: str) -> None:
    """What a real device refuses is refused at the student's own line, in a text that has words of its own."""
    program = WRONG[name]
    with accelerator.emulate(), pytest.raises((RuntimeError, TypeError)) as caught:
        answer(student(program), accelerator.to_device, torch.float32)
    lines = [frame.lineno for frame in traceback.extract_tb(caught.tb) if frame.filename == "attention.py"]
    marked = next(number for number, line in enumerate(source(program).splitlines(), 1) if line.endswith("# here"))
    assert lines[-1] == marked
    kinds = [
        kind.id
        for kind in KINDS
        if type(caught.value).__name__ in kind.types and re.search(kind.message, str(caught.value))
    ]
    assert kinds[0] in {"crash_hard_coded_device", "crash_numpy_device", "crash_device"}


def test_outputs_left_on_the_cpu_are_seen() -> None:
    """Which device each returned tensor is on can be told."""
    with accelerator.emulate():
        output, weights = student(LEFT_ON_CPU)(*map(accelerator.to_device, inputs()))
    assert (output.device.type, weights.device.type) == ("gpu", "cpu")
    assert accelerator.is_emulated(output)
    assert not accelerator.is_emulated(weights)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(4, 6).T,
        torch.randn(5, 6)[1:4, ::2],
        torch.randn(1, 6).expand(4, 6),
        torch.randn(0, 3),
        torch.tensor(2.0),
        torch.arange(6, dtype=torch.int64),
        torch.randn(3, dtype=torch.float64).requires_grad_(),
    ],
    ids=["transposed", "sliced", "expanded", "empty", "scalar", "integers", "needs gradient"],
)
def test_moving_keeps_the_layout(tensor: Tensor) -> None:
    """A tensor that is put on the device keeps its numbers, strides, dtype and requires_grad, in memory of its own."""
    there = accelerator.to_device(tensor)
    assert there.stride() == tensor.stride()
    assert there.storage_offset() == tensor.storage_offset()
    assert there.requires_grad == tensor.requires_grad
    back = accelerator.to_host(there)
    assert back.stride() == tensor.stride()
    assert torch.equal(back, tensor.detach())
    assert back.dtype == tensor.dtype
    if tensor.numel():
        assert back.data_ptr() != tensor.data_ptr()


def test_changes_made_there_are_seen_here() -> None:
    """An input that the student's code changes on the device is seen to have changed."""
    tensor = torch.zeros(3)
    with accelerator.emulate():
        there = accelerator.to_device(tensor)
        there[1] = 5
    assert accelerator.to_host(there).tolist() == [0, 5, 0]
    assert tensor.tolist() == [0, 0, 0]


def test_operators_are_counted_once_and_by_name() -> None:
    """The recorder counts the same operators on the device as on the CPU, wherever it is entered."""
    function = student(RIGHT["plain"])
    tensors = inputs()
    with Recorder() as here:
        function(*tensors)
    there = list(map(accelerator.to_device, tensors))
    with accelerator.emulate(), Recorder() as inside:
        function(*there)
    with Recorder() as outside, accelerator.emulate():
        function(*there)
    assert here.ops["bmm"] == 2
    assert here.ops == inside.ops == outside.ops
    assert here.largest == inside.largest == outside.largest


def test_a_machine_without_an_accelerator_outside() -> None:
    """Only inside `emulate` is code told that there is an accelerator, and never that it is CUDA."""
    assert not torch.accelerator.is_available()
    with accelerator.emulate():
        assert torch.accelerator.is_available()
        assert not torch.cuda.is_available()
    assert not torch.accelerator.is_available()


def test_a_hard_coded_device_stays_refused_in_the_next_call() -> None:
    """That one call asked `is_cuda` does not let the next one use "cuda" by name."""
    tensor = torch.zeros(2)
    with accelerator.emulate():
        assert accelerator.to_device(tensor).is_cuda
        assert accelerator.is_emulated(tensor.cuda())
    with accelerator.emulate(), pytest.raises(RuntimeError, match="by name"):
        tensor.cuda()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted through /proc")
def test_gradients_need_no_thread() -> None:
    """Neither backward on the CPU nor on the device starts a thread: a zygote that has one must not fork."""
    script = """
import os, torch
from grader.sandbox import accelerator
torch.set_num_threads(1)
accelerator.install()
threads = len(os.listdir("/proc/self/task"))
torch.ones(3, requires_grad=True).sum().backward()
with accelerator.emulate():
    there = accelerator.to_device(torch.ones(3, requires_grad=True))
    (there * 2).sum().backward()
    assert there.grad.tolist() == [2, 2, 2]
assert len(os.listdir("/proc/self/task")) == threads
import sys
slow = [name for name in ("torch._dynamo", "torch.distributed.tensor", "sympy") if name in sys.modules]
assert not slow, slow
"""
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def test_recurrent_layers_agree_with_the_cpu() -> None:
    """Layers that the library computes differently on devices give the CPU's numbers and gradients, within rounding."""
    torch.manual_seed(1)
    x = torch.randn(2, 5, 4)
    for layer in (torch.nn.LSTM(4, 6, num_layers=2, batch_first=True), torch.nn.GRU(4, 6, bidirectional=True)):
        here = layer(x)[0]
        (here_gradient,) = torch.autograd.grad(here.pow(2).sum(), layer.weight_ih_l0)
        with accelerator.emulate():
            moved = layer.to("gpu")
            there = moved(accelerator.to_device(x))[0]
            (there_gradient,) = torch.autograd.grad(there.pow(2).sum(), moved.weight_ih_l0)
        torch.testing.assert_close(accelerator.to_host(there), here.detach())
        torch.testing.assert_close(accelerator.to_host(there_gradient), here_gradient, rtol=1e-4, atol=1e-5)


def _transposed_and_changed(x: Tensor) -> Any:
    changed = torch.einsum("ij->ji", x)
    changed.mul_(torch.full_like(changed, 2.0).requires_grad_())
    return x, x.requires_grad, changed._is_view()


def _with_gradients_of_another(x: Tensor) -> Any:
    return torch.func.grad(lambda y: (torch.exp(x) * y).sum())(x + 1)


def _for_each_row(x: Tensor) -> Any:
    return torch.vmap(lambda row: row @ x + torch.softmax(x, -1))(x)


def _traced(x: Tensor) -> Any:
    return torch.jit.trace(lambda y: y * 2 + 1, (x,))(x + 1)  # type: ignore[no-untyped-call]


def _sizes_that_do_not_fit(x: Tensor) -> Any:
    return x.new_zeros(2, 0, 2) @ x.new_zeros(4, 3, 3)


def _kinds_that_do_not_fit(x: Tensor) -> Any:
    return torch.matmul(x.bool().sum(), x)


def _out(x: Tensor) -> Any:
    result = torch.zeros_like(x)
    return torch.matmul(x, x, out=result) is result, result


def _in_inference_mode(x: Tensor) -> Any:
    with torch.inference_mode():
        return x @ x, (x @ x).is_inference()


PROGRAMS: list[Callable[[Tensor], Any]] = [
    _transposed_and_changed,
    _with_gradients_of_another,
    _for_each_row,
    _traced,
    _sizes_that_do_not_fit,
    _kinds_that_do_not_fit,
    _out,
    _in_inference_mode,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__.strip("_"))
@pytest.mark.filterwarnings("ignore")
def test_a_function_that_is_computed_whole_does_what_its_parts_do(
    program: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results, views, gradients and errors are the same, also under what looks at each operator."""

    def seen() -> str:
        with accelerator.emulate():
            x = accelerator.to_device(torch.arange(9.0).reshape(3, 3) / 8)
            try:
                return repr(program(x))
            except (RuntimeError, TypeError) as error:
                return repr(error)

    whole = seen()
    monkeypatch.setattr(accelerator, "whole", lambda *_: NotImplemented)
    assert whole == seen()
