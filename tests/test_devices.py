from __future__ import annotations

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


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!", "mask"),
        ("expected self and mask to be on the same device, but got mask on cpu and self on cuda:0", "mask"),
        ("indices should be either on cpu or on the same device as the indexed tensor (cpu)", "mask"),
        ("Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same", "mask"),
        ("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy", "torch function"),
        ("Torch not compiled with CUDA enabled", "x.device"),
        ("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU", "x.device"),
    ],
)
def test_refusals_are_explained(text: str, word: str) -> None:
    """What a device refuses is said in plain words, with how to mend it."""
    explanation = devices.explain(text)
    assert explanation is not None
    assert word in explanation.hint


def test_other_errors_are_not_explained() -> None:
    """An error that has nothing to do with devices is left alone."""
    assert devices.explain("mat1 and mat2 shapes cannot be multiplied (5x4 and 5x4)") is None
