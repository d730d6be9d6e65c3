"""`grader` and `python -m grader`: runs the command line and turns whatever stops it into one message and a status."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from grader.errors import GraderError, UsageError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
REFUSED = {errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE}
"""What the system says when it is the machine that is at fault, whatever we were about to write or read."""
PIPE_CLOSED = 1


def run() -> NoReturn:
    """The whole life of a `grader` process. Ends without taking the interpreter apart, which with torch in it takes
    0.4 s: all is written and closed by then, and the system takes back the rest. Nor is what could not be printed
    tried once more."""
    status: object = 0
    try:
        main()
    except SystemExit as end:
        status = end.code or 0
    if isinstance(status, str):
        _tell(status)
    os._exit(status if isinstance(status, int) else 1)


def main() -> None:
    """Run the command line; every error of ours becomes one message and its exit status."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal has no letters for ends no run
    try:
        try:
            from grader.cli import cli

            cli(standalone_mode=True)
        finally:
            sys.stdout.flush()  # a disk that is full refuses now, and not when nobody can say so any more
    except GraderError as error:
        _end(str(error), error.exit_status)
    except KeyboardInterrupt:
        _end("Stopped.", 1)
    except BrokenPipeError:  # who reads what we print has had enough, as `head` does
        _end("", PIPE_CLOSED)
    except OSError as error:
        words = _machine(error)
        if not words:
            raise
        _end(words, UsageError.exit_status)


def _machine(error: OSError) -> str:
    """What the machine refuses, and how to mend it; "" when the error is none of those that a person can mend."""
    if isinstance(error, FileNotFoundError) and "temporary directory" in str(error):
        return f"{error.strerror}: each is full or can't be written. Free some space, or set TMPDIR to another folder."
    if error.errno in FULL:
        return f"{_place(error)}: {error.strerror}. Free some space there, or choose another place."
    if error.errno in REFUSED:
        return f"{_place(error)}: {error.strerror}. Look at the permissions there, and whether the disk is in order."
    return ""


def _place(error: OSError) -> str:
    """Where it happened. A write that fails does not say: it is what is printed, or the folder for passing files."""
    if error.filename:
        return os.fsdecode(error.filename)
    try:
        if not sys.stdout.isatty():
            print(flush=True)  # refused again, where it was that
    except OSError:
        return "What is printed can't be written"
    return f"A file can't be written, probably in {tempfile.gettempdir()} (TMPDIR names another folder)"


def _end(words: str, status: int) -> None:
    """Say so, if anybody can still be told, and end."""
    if words:
        _tell(f"grader: {words}")
    sys.exit(status)


def _tell(words: str) -> None:
    with contextlib.suppress(OSError):
        print(words, file=sys.stderr, flush=True)


def _open_what_is_closed() -> None:
    """Give a place to the standard streams that the caller has closed: else the first file opened would be theirs."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It gets the lowest number that is free: the stream's own.
            stream = Path(os.devnull).open(mode)  # noqa: SIM115  (open as long as the process)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    run()
