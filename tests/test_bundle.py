"""What is taken along is written whole or not at all."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.places import bundle
from tests.disks import full_disk

FILES = {"run.sh": b"#!/bin/sh\n", "grader/large.py": bytes(range(256)) * 64}


@pytest.mark.parametrize("write", [bundle.write_zip, bundle.write_folder], ids=["a zip", "a folder"])
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, write: Callable[..., None]) -> None:
    """The place is named, and nothing lies there that could be taken for the whole."""
    with full_disk(), pytest.raises(UsageError, match=r"made can't be written: .*Free some space or"):
        write(tmp_path / "made", FILES)
    assert list(tmp_path.iterdir()) == []


def test_only_what_should_run_can_be_run(tmp_path: Path) -> None:
    """A folder and a zip hold the same files with the same permissions."""
    bundle.write_folder(tmp_path / "folder", FILES, executable=["run.sh"])
    bundle.write_zip(tmp_path / "one.zip", FILES, executable=["run.sh"])
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        packed = {info.filename: (info.external_attr >> 16 & 0o777, archive.read(info)) for info in archive.infolist()}
    paths = [path for path in (tmp_path / "folder").rglob("*") if path.is_file()]
    laid_out = {
        path.relative_to(tmp_path / "folder").as_posix(): (path.stat().st_mode & 0o777, path.read_bytes())
        for path in paths
    }
    assert (
        laid_out == packed == {"run.sh": (0o755, FILES["run.sh"]), "grader/large.py": (0o644, FILES["grader/large.py"])}
    )
