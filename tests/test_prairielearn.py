"""PrairieLearn: results within its limits, and nothing that costs a student an attempt for a mistake of ours."""

from __future__ import annotations

import base64
import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from grader.pages.heatmap import figure
from grader.pages.words import load_words
from grader.places import png, prairielearn
from grader.results import Report
from tests import course, reports

IMAGES = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["label", "url"],
        "properties": {"url": {"type": "string", "pattern": "^data:image/png;base64,"}},
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "gradable": {"type": "boolean"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "message": {"type": "string"},
        "output": {"type": "string"},
        "format_errors": {"type": "array", "items": {"type": "string"}},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "points", "max_points"],
                "properties": {
                    "name": {"type": "string"},
                    "points": {"type": "number"},
                    "max_points": {"type": "number"},
                    "message": {"type": "string"},
                    "output": {"type": "string"},
                    "images": IMAGES,
                },
            },
        },
    },
    "if": {"properties": {"gradable": {"const": True}}},
    "then": {"required": ["score"]},
    "else": {"required": ["format_errors"]},
}
"""Written from PrairieLearn's documentation, independently of the code that is tested."""


def results(report: Report) -> dict[str, Any]:
    made = prairielearn.results(report, load_words())
    text = json.dumps(made, allow_nan=False)
    assert len(text) < 1_000_000
    jsonschema.validate(made, SCHEMA)
    return made


def test_wrong_work_gets_its_share_with_pictures() -> None:
    """The score is a part of one; each failed check brings its words, its numbers and its picture."""
    report = reports.wrong()
    made = results(report)
    assert made["score"] == pytest.approx(report.score / report.max_score)
    causal = made["tests"][4]
    assert (causal["points"], causal["max_points"]) == (0, 15)
    assert "Hint: A masked score" in causal["message"]
    assert "Expected:" in causal["output"]
    assert len(causal["images"]) == 1
    assert "Fix this first: The mask is never applied" in made["message"]


@pytest.mark.parametrize("make", [reports.unread, reports.fault])
def test_work_that_was_not_graded_costs_no_attempt(make: Any) -> None:
    """A file that can't be read, or a mistake of ours, is "not gradable": no points lost, and the reason told."""
    made = results(make())
    assert made["gradable"] is False
    assert made["format_errors"][0]


def test_a_hidden_check_counts_and_is_not_listed() -> None:
    """There is no visibility of tests on PrairieLearn."""
    hidden = reports.check(6, passed=False, visibility="hidden", message="The secret weakness.")
    made = results(reports.report([reports.check(0), hidden]))
    assert made["score"] == pytest.approx(8 / 28)
    assert len(made["tests"]) == 1
    assert "secret weakness" not in json.dumps(made)
    assert "One more check counts" in made["message"]


def test_pictures_give_way_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file stays under its limit: the last pictures are left out first, then the last numbers."""
    check = reports.wrong().checks[4]
    many = reports.report([msgspec.structs.replace(check, id=f"c{at}") for at in range(8)])
    whole = len(json.dumps(results(many)))
    monkeypatch.setattr(prairielearn, "MOST_BYTES", whole - 5000)
    tests = results(many)["tests"]
    assert "images" in tests[0]
    assert "images" not in tests[-1]
    assert all("output" in test for test in tests)
    monkeypatch.setattr(prairielearn, "MOST_BYTES", whole // 3)
    made = results(many)
    assert "output" in made["tests"][0]
    assert "output" not in made["tests"][-1]
    assert len(json.dumps(made)) <= whole // 3


def test_hostile_text_is_bounded_and_clean() -> None:
    """No control characters, whatever a student wrote."""
    text = json.dumps(results(reports.hostile()), ensure_ascii=False)
    assert not {"\\u0000", "\x1b", "\u202e"} & set(text)


def test_a_picture_is_a_readable_png() -> None:
    """Panels side by side, one square a cell, with the right sizes and checksums."""
    shown = figure(reports.weights_picture(size=4), load_words())
    data = base64.b64decode(png.data_url(shown).partition(",")[2])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (height, depth, kind) == (4 * png.CELL, 8, 2)
    assert width == len(shown.panels) * (4 * png.CELL + png.GAP)
    at, kinds, body = 8, [], b""
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        chunk = data[at + 4 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(chunk)
        kinds.append(chunk[:4])
        body += chunk[4:] if chunk[:4] == b"IDAT" else b""
        at += 12 + size
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]
    assert len(zlib.decompress(body)) == height * (1 + 3 * width)


def test_every_class_of_a_cell_has_a_colour() -> None:
    """NaN, both scales and the mask can be drawn."""
    for picture in (reports.nan_picture(), reports.weights_picture()):
        assert png.drawn(figure(picture, load_words()).panels)
    assert png.colour("s0") == png.PAPER
    assert png.colour("n5") == png.DEEPEST["n"]


@pytest.mark.slow
def test_a_whole_run(tmp_path: Path) -> None:
    """As PrairieLearn does it: its folders, the entrypoint from serverFilesCourse, and results at the end."""
    tmp_path.chmod(0o711)
    tmp_path.parent.chmod(0o711)
    course.make(tmp_path / "course")
    built = prairielearn.build(tmp_path / "course", "double", tmp_path / "built")
    info = json.loads((built / "question" / "info.json").read_text())
    assert info["externalGradingOptions"]["timeout"] == 46
    assert "torch==2.13.0" in (built / "Dockerfile").read_text()
    for name in ("student", "data", "tests"):
        (tmp_path / "grade" / name).mkdir(parents=True)
    (tmp_path / "grade" / "student" / "double.py").write_text("def double(x):\n    return x * 3\n")
    script = built / "serverFilesCourse" / "pytorch_grader" / "run.sh"
    environment = {**os.environ, "GRADER_TREE": str(tmp_path / "grade"), "GRADER_PYTHON": sys.executable}
    done = subprocess.run([script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "grade" / "results" / "results.json").read_text())
    jsonschema.validate(made, SCHEMA)
    assert made["score"] == pytest.approx(0.6)
    assert script.parent.joinpath("course").stat().st_mode & 0o077 == 0
