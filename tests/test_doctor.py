"""The doctor says what this machine can do, and a matrix that shows nothing says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader import arena, doctor
from grader.sandbox import canary
from grader.sandbox.machine import Missing

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the layers are Linux's")


def test_report_names_the_level_and_the_machine(tmp_path: Path) -> None:
    """The level comes first; versions and the device that GPU checks run on are there; an open folder is named."""
    (tmp_path / "solutions").mkdir(mode=0o755)
    health = doctor.report(tmp_path)
    text = "\n".join(health.lines)
    assert health.lines[0].startswith("Sandbox: level ")
    for words in ("Python 3.", "PyTorch ", "GPU checks run on: ", f"chmod 700 {tmp_path / 'solutions'}"):
        assert words in text


def test_what_is_missing_comes_with_a_mend() -> None:
    """For each missing layer the doctor says why and how to get it; a layer that leaks is said aloud."""
    verdict = canary.Verdict(
        "C",
        ("rlimits", "landlock"),
        (Missing("seccomp", "libseccomp is not installed", "install libseccomp2"),),
        (),
        ("start a process", "read a secret file"),
        ("read a secret file",),
        (),
    )
    text = "\n".join(doctor.sandbox_lines(verdict))
    assert "missing: seccomp, because libseccomp is not installed. To get it: install libseccomp2." in text
    assert "read a secret file, ALTHOUGH A LAYER SHOULD STOP IT" in text


def test_matrix_shows_what_each_layer_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row an attack, a column a set of layers; the controls stand below."""
    chosen = [
        attack for attack in arena.attacks("system") if attack.path.stem in ("38_start_process", "03_write_result")
    ]
    monkeypatch.setattr(arena, "attacks", lambda group: chosen)
    lines = doctor.matrix()
    process = next(line for line in lines if line.startswith("38_start_process")).split()[1:]
    assert process[0] == "x"
    assert process[-1] == "."
    assert lines[-1].split()[4:] == ["yes"] * len(process)


def test_matrix_without_working_controls_shows_nothing() -> None:
    """When honest work fails, the table says that its blocked attacks are no proof."""
    lines = list(doctor.drawn([frozenset()], {"an_attack": [False]}, [False]))
    assert "NO" in lines[-2]
    assert "shows nothing" in lines[-1]
