"""Whatever the machine refuses, the command ends with one message and the right exit status, never with a traceback."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader import __main__ as entry
from tests import course
from tests.commands import COMMAND, here

QUICK = (["schema"], ["--help"], ["gradescope", "build", "--help"])


def stopped(error: OSError, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit status of a command that runs into the error."""

    def cli(*, standalone_mode: bool) -> None:
        raise error

    monkeypatch.setattr("grader.cli.cli", cli)
    with Path(os.devnull).open("w") as stdout:  # what ends a command also closes the place that it printed to
        monkeypatch.setattr(sys, "stdout", stdout)
        with pytest.raises(SystemExit) as ended:
            entry.main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/data/x"), "/data/x: No space left on device. Free some"),
        (OSError(errno.ENOSPC, "No space left on device"), "TMPDIR names another folder): No space left"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "Disk quota exceeded. Free some space"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found"), "or set TMPDIR to another"),
        (PermissionError(errno.EACCES, "Permission denied", "/data/x"), "/data/x: Permission denied. Look at the perm"),
        (OSError(errno.EIO, "Input/output error", "/data/x"), "whether the disk is in order"),
    ],
)
def test_what_the_machine_refuses_is_one_message(
    error: OSError, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what was refused, where, and how to mend it; the exit status is 2."""
    assert stopped(error, monkeypatch) == 2
    told = capsys.readouterr().err
    assert told.startswith("grader: ")
    assert words in told
    assert len(told.splitlines()) == 1


def test_an_error_that_nobody_can_mend_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours that shows as an error of the system is not dressed up as the machine's fault."""
    with pytest.raises(FileNotFoundError):
        stopped(FileNotFoundError(errno.ENOENT, "No such file or directory", "x"), monkeypatch)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_a_full_disk_below_the_output_is_told(arguments: list[str]) -> None:
    """`grader ... > file` on a full disk."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "grader: What is printed can't be written: No space left on device. "
        "Free some space there, or choose another place.\n"
    )


def test_letters_that_the_terminal_does_not_have_end_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name in another script, or none at all, is printed with a sign in its place."""
    course.make(tmp_path)
    place = os.fsencode(tmp_path) + "/ñ日".encode() + b"\xe9.py"
    Path(os.fsdecode(place)).write_text(course.RIGHT)
    printed, told = (io.TextIOWrapper(io.BytesIO(), "latin-1", "strict") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setenv("COLUMNS", "400")
    status = here(monkeypatch, tmp_path, "check", "double", os.fsdecode(place))
    shown, complaints = (stream.buffer.getvalue() for stream in (printed, told))
    assert (status, complaints) == (0, b"")
    assert b"\xf1??.py" in shown
    assert b"3 of 3 public checks passed" in shown


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_a_reader_that_has_had_enough_ends_it_quietly(arguments: list[str]) -> None:
    """`grader ... | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("closed", "status"), [(">&-", 0), ("<&- >&- 2>&-", 0), ("<&- >&- 2>&- nothing", 2)], ids=["one", "all", "wrong"]
)
def test_streams_may_be_closed_from_the_start(closed: str, status: int) -> None:
    """As under some schedulers: nothing can be told, and the exit status is what it always is."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m grader schema {closed}'], check=False, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")
