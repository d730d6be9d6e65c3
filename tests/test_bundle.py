"""What is taken along is written whole or not at all."""

from __future__ import annotations

import resource
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.places import bundle

FILES = {"run.sh": b"#!/bin/sh\n", "grader/large.py": bytes(range(256)) * 64}


@pytest.fixture
def _full() -> Iterator[None]:
    """No file may be longer than this, as on a disk that becomes full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("_full")
@pytest.mark.parametrize("write", [bundle.write_zip, bundle.write_folder], ids=["a zip", "a folder"])
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, write: Callable[..., None]) -> None:
    """The place is named, and nothing lies there that could be taken for the whole."""
    with pytest.raises(UsageError, match=r"made can't be written: .*Free some space or"):
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
