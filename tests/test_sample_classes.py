"""Whole classes with known marks: what `make grade` shows is right, for every assignment of the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader import intake
from grader.assignment import SAMPLE_CLASS, load

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
NAMES = sorted(path.parent.name for path in (ROOT / "solutions").glob(f"*/{SAMPLE_CLASS}"))


def table(name: str) -> dict[str, dict[str, Any]]:
    """id -> what it must get."""
    return tomllib.loads((ROOT / "solutions" / name / SAMPLE_CLASS).read_text(encoding="utf-8"))


def graded(name: str, out: Path) -> dict[str, dict[str, Any]]:
    """id -> result, from a whole run of the command with a secret of its own."""
    command = [sys.executable, "-m", "grader", "grade", name, str(ROOT / "solutions" / name / "sample_class")]
    environment = os.environ | {"GRADER_SECRET": "a secret for the sample classes"}
    done = subprocess.run(
        [*command, "--out", str(out)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads(path.read_text(encoding="utf-8")) for path in (out / "results").glob("*.json")]
    return {result["submission"]["id"]: result for result in results}


@pytest.mark.parametrize("name", NAMES)
def test_the_table_names_every_submission(name):
    """No made-up submission is without an expected mark, and no mark is without its submission."""
    folder = ROOT / "solutions" / name / "sample_class"
    found = intake.scan((folder,), load(name, ROOT).settings)
    assert {entry.id for entry in found.entries} == set(table(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_mark_is_the_one_in_the_table(name, tmp_path):
    """Score, failed checks and named misconceptions are as expected, and no check of ours breaks."""
    results = graded(name, tmp_path)
    wrong = {}
    for known, want in table(name).items():
        result = results[known]
        states = {check["id"]: check["status"] for check in result["checks"]}
        failed = set(states) if want.get("failed") == "all" else set(want.get("failed", []))
        expected = {check: "failed" if check in failed else "passed" for check in states}
        named = [diagnosis["misconceptions"] for diagnosis in result["diagnoses"]]
        right = not want.get("diagnosis") or want["diagnosis"] in named
        if result["score"] != want["score"] or states != expected or failed - set(states) or not right:
            different = {check: state for check, state in states.items() if state != expected[check]}
            wrong[known] = (result["score"], different, named)
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_second_run_gives_the_same_marks(name, tmp_path):
    """Grading the same class again changes no score, no status and no message."""
    first, second = ({key: kept(result) for key, result in graded(name, tmp_path / run).items()} for run in "ab")
    assert first == second


def kept(result: dict[str, Any]) -> Any:
    """What must not differ between two runs: everything of a check but its time."""
    checks = [{key: value for key, value in check.items() if key != "seconds"} for check in result["checks"]]
    return result["score"], checks, result["diagnoses"], result["flags"], result["problem"]
