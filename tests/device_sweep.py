"""Every operator of the library's own operator database on the emulated accelerator against the CPU.

`python tests/device_sweep.py [NAME...]` takes some minutes and prints what differs: values, layouts, gradients, and
which mixtures of devices are refused compared with the library's fake tensors (those let any CPU tensor without
dimensions through, so that they accept more is expected). Not a test of the suite: run it after a new torch release.
"""

from __future__ import annotations

import signal
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

sys.path.insert(0, str(Path(__file__).parent.parent))
from grader.sandbox import accelerator

SECONDS, SAMPLES = 20, 5
Sample = tuple[Any, Any, Any]


class Late(BaseException):
    """An operator took too long."""


def database() -> list[Any]:
    """The library's operators with sample inputs. It asks for a test package that it does not need for this."""
    stand_in = types.ModuleType("expecttest")
    stand_in.TestCase = unittest.TestCase
    sys.modules.setdefault("expecttest", stand_in)
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def samples(op: Any, gradients: bool) -> Iterator[Sample]:
    dtypes = [torch.float32] if gradients else [torch.float32, torch.int64, torch.complex64]
    dtype = next((dtype for dtype in dtypes if dtype in op.supported_dtypes("cpu")), None)
    if dtype is None:
        return
    for count, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=gradients)):
        if count == SAMPLES:
            return
        yield sample.input, sample.args, sample.kwargs


def dense(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided


def leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def moved(sample: Sample, place: Callable[[Tensor], Tensor], device: str) -> Sample:
    def move(value: Any) -> Any:
        if dense(value):
            return place(value)
        named_cpu = value == "cpu" or (isinstance(value, torch.device) and value.type == "cpu")
        return torch.device(device) if named_cpu else value

    return tree_map(move, sample)


def compute(op: Any, sample: Sample, gradients: bool) -> list[Any]:
    torch.manual_seed(0)
    results = tree_leaves(op.op(sample[0], *sample[1], **sample[2]))
    if not gradients:
        return results
    wanted = [value for value in tree_leaves(sample) if dense(value) and value.requires_grad]
    outputs = [value for value in results if dense(value) and value.requires_grad and not value.is_complex()]
    if not wanted or not outputs:
        return []
    return list(torch.autograd.grad(sum(value.sin().sum() for value in outputs), wanted, allow_unused=True))


def difference(here: Any, there: Any, gradients: bool) -> str:
    if not isinstance(here, Tensor):
        return ""
    if not accelerator.is_emulated(there):
        return "not on the device" if here.numel() else ""
    back = accelerator.to_host(there)
    if here.shape != back.shape or (here.stride() != back.stride() and not gradients):
        return "another layout"
    near = torch.allclose(here.detach(), back, rtol=1e-4, atol=1e-5, equal_nan=True)
    return "" if near else "other numbers"


def agree(op: Any, gradients: bool) -> str:
    """ "agrees", "nothing to compare", or what differs."""
    compared = 0
    for sample in samples(op, gradients):
        try:
            here = compute(op, moved(sample, leaf, "cpu"), gradients)
        except Exception:  # the database holds samples that are not for the CPU
            continue
        with accelerator.emulate():
            place = moved(sample, lambda tensor: accelerator.to_device(leaf(tensor)), "gpu")
            there = compute(op, place, gradients)
        for pair in zip(here, there, strict=True):
            found = difference(*pair, gradients)
            if found and not op.name.startswith(("empty", "new_empty")):
                return found
        compared += len(here)
    return "agrees" if compared else "nothing to compare"


def outcome(use: Callable[[], Any]) -> str:
    try:
        use()
    except Exception as error:
        return "refused" if isinstance(error, RuntimeError) and "device" in str(error) else "failed"
    return "accepted"


def mixtures(op: Any) -> Iterator[tuple[str, str, str]]:
    """For each tensor left on the CPU while the others are on the device: (which, emulated, fake)."""
    for sample in samples(op, False):
        values, shape = tree_flatten(sample)
        tensors = [position for position, value in enumerate(values) if dense(value)]
        for left in tensors[:4] if len(tensors) > 1 else []:
            mixed = partial(_mixed, values, shape, left)
            if outcome(lambda mixed=mixed: compute(op, mixed(leaf), False)) == "accepted":
                which = f"tensor {tensors.index(left)} ({values[left].dim()}-d)"
                yield which, outcome(partial(_emulated, op, mixed)), outcome(partial(_fake, op, mixed))


def _mixed(values: list[Any], shape: Any, left: int, place: Callable[[Tensor], Tensor]) -> Sample:
    """The sample with each tensor placed but one."""
    stays = leaf(values[left])
    return tree_unflatten([stays if at == left else place(v) if dense(v) else v for at, v in enumerate(values)], shape)


def _emulated(op: Any, mixed: Callable[[Callable[[Tensor], Tensor]], Sample]) -> None:
    with accelerator.emulate():
        compute(op, mixed(accelerator.to_device), False)


def _fake(op: Any, mixed: Callable[[Callable[[Tensor], Tensor]], Sample]) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        made = mixed(lambda t: torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="cuda"))
        made = tree_map(lambda v: mode.from_tensor(v) if dense(v) and v.device.type == "cpu" else v, made)
        op.op(made[0], *made[1], **made[2])


def main(names: list[str]) -> None:
    accelerator.install()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")

    def late(*_: Any) -> None:
        raise Late

    signal.signal(signal.SIGALRM, late)
    counts: dict[str, Counter[str]] = {"values": Counter(), "gradients": Counter(), "mixtures": Counter()}
    for op in database():
        if names and op.name not in names:
            continue
        for kind in ("values", "gradients") if op.supports_autograd else ("values",):
            signal.alarm(SECONDS)
            try:
                found = agree(op, kind == "gradients")
            except Late:
                found = "took too long"
            except Exception as error:
                found = f"{type(error).__name__}: {str(error)[:150]}"
            signal.alarm(0)
            counts[kind]["differs" if found not in ("agrees", "nothing to compare") else found] += 1
            if found not in ("agrees", "nothing to compare"):
                print(f"{op.name} {op.variant_test_name}: {kind}: {found}")
        signal.alarm(SECONDS)
        try:
            for which, emulated, fake in mixtures(op):
                same = "same" if emulated == fake else "failed" if "failed" in (emulated, fake) else "differs"
                counts["mixtures"][same] += 1
                if same == "differs":
                    print(f"{op.name}: {which} on the CPU: emulated {emulated}, fake tensors {fake}")
        except (Late, Exception) as error:
            print(f"{op.name}: mixtures: {type(error).__name__}")
        signal.alarm(0)
    for kind, count in counts.items():
        print(kind, dict(count))


if __name__ == "__main__":
    main(sys.argv[1:])
