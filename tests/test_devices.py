from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest
import torch

from grader import devices
from grader.errors import UsageError


@pytest.fixture(autouse=True)
def _forget() -> Any:
    devices.detect.cache_clear()
    yield
    devices.detect.cache_clear()


def answering(monkeypatch: pytest.MonkeyPatch, output: str, code: int = 0, errors: str = "") -> None:
    """A machine whose torch is built for CUDA and whose probe prints this."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(subprocess, "run", lambda args, **rest: subprocess.CompletedProcess(args, code, output, errors))


def test_a_real_accelerator_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A working accelerator is used, and results say which one it was."""
    answering(monkeypatch, "cuda:0|NVIDIA H200\n")
    assert devices.detect() == devices.Accelerator("cuda:0", "cuda:0 NVIDIA H200")
    assert devices.describe() == "cuda:0 NVIDIA H200"
    assert devices.require_real().name == "cuda:0"


def test_a_broken_accelerator_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that does not work means the emulated accelerator, with the reason kept."""
    answering(monkeypatch, "", 1, "Traceback ...\nRuntimeError: Found no NVIDIA driver on your system")
    found = devices.detect()
    assert found.emulated
    assert found.label == "emulated"
    assert "no NVIDIA driver" in found.reason
    with pytest.raises(UsageError, match="--device auto"):
        devices.require_real()


def test_the_cpu_build_is_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch is built for the CPU, no process is started to find that out."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: None)
    monkeypatch.setattr(subprocess, "run", None)
    assert devices.detect().emulated


def test_settings_are_pinned_and_recorded() -> None:
    """Full-precision, repeatable kernels are chosen before a device starts, and said in the record."""
    before = torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic
    try:
        record = devices.start("cpu")
        assert not torch.backends.cudnn.allow_tf32
        assert not torch.backends.cuda.matmul.allow_tf32
        assert torch.get_float32_matmul_precision() == "highest"
        assert record["tf32"] == "off"
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic = before


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to a processor")
def test_only_the_cores_that_may_be_used_are_counted() -> None:
    """Under `taskset` or in a small container there are as many markers as processors, not as the machine has."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert devices.cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert devices.cores() == len(allowed)
