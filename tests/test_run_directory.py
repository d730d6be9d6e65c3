"""A run directory in which something is odd: what, where and how to mend it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import reports

from grader.errors import UsageError
from grader.results import encode
from grader.run_directory import RunDirectory, write


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run of one submission."""
    made = RunDirectory(tmp_path)
    made.create()
    write(made.result("ada"), encode(reports.right()))
    write(tmp_path / "run.json", encode(reports.run_info(1)))
    return made


def test_a_folder_where_a_result_should_be_is_told(run: RunDirectory) -> None:
    """Reading and writing say that it is a folder, and not that the disk is full or the file damaged."""
    path = run.result("bob")
    path.mkdir()
    for step in (lambda: run.read("bob"), lambda: list(run.reports()), lambda: write(path, "x")):
        with pytest.raises(UsageError) as caught:
            step()
        assert str(caught.value).startswith(f"{path} is a folder, and a ")
        assert "Move it away or delete it" in str(caught.value)
    assert run.load("bob") is None


def test_a_folder_where_a_page_should_be_is_told(run: RunDirectory) -> None:
    """As for results; the half-written page does not stay."""
    path = run.feedback("ada", ".html")
    path.mkdir()
    with pytest.raises(UsageError, match=r"ada\.html is a folder, and a file has to be written there\. Move it away"):
        write(path, "<p>")
    assert list(path.parent.iterdir()) == [path]


def test_a_file_where_a_folder_should_be_is_told(tmp_path: Path) -> None:
    """`feedback` may not be a file."""
    (tmp_path / "feedback").write_text("")
    with pytest.raises(UsageError, match=r"feedback is a file, and a folder has to be there\. Move it away"):
        RunDirectory(tmp_path).create()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (msgspec.json.encode({"schema": 0}), "it is damaged, or another version of the grader wrote it"),
        (encode(msgspec.structs.replace(reports.right(), schema=2)), "it has schema 2, and this version of the grader"),
        (b"{", "it is damaged, or"),
        (b'{"schema": "\xff"}', "it is damaged, or"),
    ],
    ids=["an older one", "a later one", "half", "no text"],
)
def test_a_result_of_another_version_is_told(run: RunDirectory, data: bytes, words: str) -> None:
    """It names the file, what is wrong, and the mend."""
    run.result("ada").write_bytes(data)
    with pytest.raises(UsageError) as caught:
        run.read("ada")
    assert str(caught.value).startswith(f"{run.result('ada')} can't be used: {words}")
    assert str(caught.value).endswith("Delete it and grade again.")


def test_a_run_without_its_results_is_told(run: RunDirectory) -> None:
    """Pages of nobody would look as if nobody had handed anything in."""
    run.result("ada").unlink()
    (run.path / "results").rmdir()
    with pytest.raises(UsageError, match=r"results is not a folder, and holds the results of the run\. Grade again\."):
        list(run.reports())


def test_a_run_that_was_stopped_is_no_missing_run(run: RunDirectory) -> None:
    """It has results and needs its end; a folder with nothing in it is another folder."""
    (run.path / "run.json").unlink()
    with pytest.raises(UsageError, match=r"was stopped before its end.*the same `grader grade` command again first"):
        run.info()
    run.result("ada").unlink()
    with pytest.raises(UsageError, match="is not a run directory"):
        run.info()


def test_a_run_of_another_version_is_told(run: RunDirectory) -> None:
    """`run.json` with a key that this version does not know."""
    (run.path / "run.json").write_text('{"id": "x", "colour": 3}')
    with pytest.raises(UsageError, match=r"run\.json can't be used: .*another version of the grader.* Grade again"):
        run.info()
