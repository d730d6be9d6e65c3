"""What there is to compute on: which accelerator the GPU checks run on and how a real one is set up, how many cores.

CUDA must not be started in a process that forks. So the main process looks for an accelerator through a short-lived
process of its own, and only the student's process starts it. Where there is none, the emulated one stands in
(`grader.sandbox.accelerator`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

import torch

from grader.errors import UsageError
from grader.sandbox.accelerator_rules import NAME

_PROBE_SECONDS = 120
# Computing something is the only sure sign that driver, device and library fit together.
_PROBE = """
import torch
kind = torch.accelerator.current_accelerator().type
ones = torch.ones(2, 2, device=kind)
assert (ones @ ones).sum().item() == 8
module = torch.get_device_module(kind)
name = module.get_device_name(0) if hasattr(module, "get_device_name") else kind.upper()
print(f"{kind}:0|{name}")
"""


def cores() -> int:
    """How many processors this process may use, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Accelerator:
    """What the GPU checks run on."""

    name: str
    """The device as the library writes it ("cuda:0"), or "emulated"."""
    label: str
    """For results and people: "cuda:0 NVIDIA H200", or "emulated"."""
    reason: str = ""
    """Why a real one is not used."""

    @property
    def emulated(self) -> bool:
        return self.name == "emulated"


@cache
def detect() -> Accelerator:
    """The real accelerator if this machine has one that works, else the emulated one. Starts nothing in this process.

    Free where torch is built for the CPU; elsewhere it takes the seconds that starting the device takes, once.
    """
    kind = torch.accelerator.current_accelerator()  # what torch was built for; starts nothing
    if kind is None or kind.type == NAME:
        return Accelerator("emulated", "emulated", "this torch is built for the CPU only")
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Accelerator("emulated", "emulated", f"trying {kind.type} did not end well: {error}")
    found = re.fullmatch(rf"({kind.type}:0)\|(.+)", done.stdout.strip())
    if done.returncode or not found:
        last = (done.stderr.strip().splitlines() or ["nothing was printed"])[-1]
        return Accelerator("emulated", "emulated", f"{kind.type} does not work here: {last[:200]}")
    return Accelerator(found[1], f"{found[1]} {found[2]}")


def describe() -> str:
    """What the GPU checks run on, for results: "cuda:0 NVIDIA H200" or "emulated"."""
    return detect().label


def require_real() -> Accelerator:
    """The real accelerator. Raises UsageError, with the reason, where there is none."""
    found = detect()
    if found.emulated:
        raise UsageError(
            f"A real accelerator was asked for (--device gpu), and this machine has none that works: {found.reason}. "
            f"Use --device auto to run these checks on the emulated one."
        )
    return found


def start(name: str, memory_mb: int = 0) -> dict[str, str]:
    """Start a real accelerator in this process, which will not fork, with settings pinned. Returns them for the record.

    Full-precision products instead of TF32, and deterministic kernels, so that a mark does not depend on the card or
    the day. `memory_mb` limits what torch may take of the device's memory (CUDA only; 0 is no limit).
    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html and .../notes/randomness.html
    """
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # read when cuBLAS starts; without it products may vary
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.zeros(1, device=name)
    if memory_mb and name.startswith("cuda"):
        total = torch.cuda.get_device_properties(name).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, (memory_mb << 20) / total), name)
    return {
        "tf32": "off",
        "cudnn": "deterministic, no benchmark",
        "half-precision sums": "full precision",
        "cublas workspace": ":4096:8",
        "memory": f"{memory_mb} MB" if memory_mb else "no limit",
    }
