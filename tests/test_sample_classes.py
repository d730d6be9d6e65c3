"""Whole classes with known marks: what `make grade` shows is right, for every assignment of the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from instructor import follow

from grader import intake
from grader.assignment import SAMPLE_CLASS, load
from grader.authoring.new import new

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
NAMES = sorted(path.parent.name for path in (ROOT / "solutions").glob(f"*/{SAMPLE_CLASS}"))
Table = dict[str, dict[str, Any]]


def table(name: str, root: Path = ROOT) -> Table:
    """id -> what it must get."""
    return tomllib.loads((root / "solutions" / name / SAMPLE_CLASS).read_text(encoding="utf-8"))


def graded(name: str, out: Path, root: Path = ROOT) -> Table:
    """id -> result, from a whole run of the command with a secret of its own."""
    grade = ["grade", name, str(root / "solutions" / name / "sample_class"), "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "grader", "--root", str(root), *grade],
        env=os.environ | {"GRADER_SECRET": "a secret for the sample classes"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads(path.read_text(encoding="utf-8")) for path in (out / "results").glob("*.json")]
    return {result["submission"]["id"]: result for result in results}


def differences(results: Table, expected: Table) -> Table:
    """The submissions whose score, failed checks or named misconceptions are not as expected."""
    wrong = {}
    for known, want in expected.items():
        result = results[known]
        states = {check["id"]: check["status"] for check in result["checks"]}
        failed = set(states) if want.get("failed") == "all" else set(want.get("failed", []))
        wanted = {check: "failed" if check in failed else "passed" for check in states}
        named = [diagnosis["misconceptions"] for diagnosis in result["diagnoses"]]
        right = not want.get("diagnosis") or want["diagnosis"] in named
        if result["score"] != want["score"] or states != wanted or failed - set(states) or not right:
            different = {check: state for check, state in states.items() if state != wanted[check]}
            wrong[known] = {"score": result["score"], "different": different, "named": named}
    return wrong


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
    assert differences(graded(name, tmp_path), table(name)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("make", [follow, lambda root: new("layer_norm", root)], ids=["the page's", "a new one's"])
def test_the_first_class_of_an_instructor_gets_its_marks(make, tmp_path):
    """The assignment that the documentation builds, and the one that `grader new` writes, grade as they say."""
    make(tmp_path)
    results = graded("layer_norm", tmp_path / "run", tmp_path)
    assert differences(results, table("layer_norm", tmp_path)) == {}
    assert set(results) == set(table("layer_norm", tmp_path))


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
