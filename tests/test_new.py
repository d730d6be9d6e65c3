"""A new assignment works from the start, and the documentation's own example works word for word."""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec
import pytest
from instructor import PAGE, follow

from grader.assignment import Convention, Late, Limits, Settings, load
from grader.auditing.audit import audit
from grader.authoring.new import new
from grader.authoring.release import release
from grader.entry import Entry
from grader.errors import AssignmentError


def test_both_halves_are_written(tmp_path):
    """Every file carries the new name, and the starters are up to date at once."""
    written = new("centred_rows", tmp_path)
    assignment = load("centred_rows", tmp_path)
    assert assignment.settings.entry.function == "centred_rows"
    assert assignment.public / "centred_rows.ipynb" in written
    assert release(assignment, check=True) == []
    assert not [path for path in written if "centre_rows" in path.name or "centre_rows(" in path.read_text()]


@pytest.mark.parametrize("name", ["Layer", "layer-norm", "3d", "class", "../up", "", "bounds", "test_hidden"])
def test_a_name_that_can_not_be_used_is_refused(name, tmp_path):
    """A name that Python or a staff module could trip over is refused before anything is written."""
    with pytest.raises(AssignmentError, match=r"can't be the name|name of a staff module"):
        new(name, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["torch", "numpy", "grader", "pytest", "json", "msvcrt", "msgspec"])
def test_a_name_that_hides_a_module_is_refused(name, tmp_path):
    """An assignment called like a module would stand before it when checks import it: another name is proposed."""
    with pytest.raises(AssignmentError, match=f"name of a Python module.*my_{name}"):
        new(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path):
    """A folder that is there already, in either half, is left alone."""
    (tmp_path / "solutions" / "mine").mkdir(parents=True)
    with pytest.raises(AssignmentError, match="exists already"):
        new("mine", tmp_path)
    assert not (tmp_path / "assignments").exists()


def test_a_place_that_can_not_be_written_is_told(tmp_path, monkeypatch):
    """One message, and no half of an assignment stays behind."""
    write_text = Path.write_text

    def full(path, text, **options):
        if path.suffix == ".toml":
            raise OSError(errno.ENOSPC, "No space left on device")
        write_text(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(AssignmentError, match=r"Nothing can be written into .*: No space left on device\."):
        new("mine", tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_pages_example_is_complete(tmp_path):
    """Following the page gives an assignment that releases without a leak and whose audit finds no fault."""
    assert follow(tmp_path) == [
        "grader audit layer_norm",
        "grader grade layer_norm solutions/layer_norm/sample_class",
    ]
    assignment = load("layer_norm", tmp_path)
    assert release(assignment, check=True) == []
    starter = (assignment.public / "layer_norm.py").read_text(encoding="utf-8")
    assert "raise NotImplementedError" in starter
    assert "centred" not in starter
    assert audit(assignment, jobs=1).faults == []


def test_a_new_assignment_passes_its_audit_at_once(tmp_path):
    """The template is a good example: its checks catch everything that the audit tries."""
    new("centred_rows", tmp_path)
    assert audit(load("centred_rows", tmp_path), jobs=1).faults == []


@pytest.mark.parametrize("struct", [Settings, Entry, Limits, Late, Convention])
def test_every_setting_is_documented(struct):
    """A setting that the page does not name might as well not be there."""
    page = PAGE.read_text(encoding="utf-8")
    missing = [field.name for field in msgspec.structs.fields(struct) if f"`{field.name}`" not in page]
    tables = {"entry": "[entry]", "limits": "[limits]", "late": "[late]"}
    others = {"conventions": "[conventions.", "partial_credit": "[partial_credit."}
    assert [name for name in missing if (tables | others).get(name, "no such table") not in page] == []
