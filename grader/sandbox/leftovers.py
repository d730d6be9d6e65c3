"""Folders with students' files: laid out for their code to read; swept when a killed marker could not remove them."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from grader.errors import UsageError

PREFIX = "submission-"
"""How the folder of a submission begins."""
OLD_SECONDS = 3600.0
_NO_PLACE = {errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ}
"""What a file system says to a path that it can't have, whatever room there is."""


def lay_out(files: Mapping[str, bytes]) -> Path:
    """A submission's other files in a folder of their own that the student's process may read.

    Intake and notebooks give clean relative paths; one that would lead elsewhere, or that is a file and a folder at
    once, is not laid out (its code can still import it). Raises UsageError when the disk refuses: a file that is
    missing would look like the student's mistake.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    except OSError as error:
        raise UsageError(_refused(error)) from None
    try:
        folder.chmod(0o755)
        for path, data in files.items():
            target = folder / path
            if ".." not in target.parts and target.is_relative_to(folder):
                _write(target, data)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(_refused(error)) from None
    return folder


def _write(target: Path, data: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as error:
        if error.errno not in _NO_PLACE:
            raise


def _refused(error: OSError) -> str:
    return (
        f"Students' files can't be laid out for their code to read: {error.strerror}. Free some space in the folder "
        "for temporary files, or set TMPDIR to another one; the same command goes on where it stopped."
    )


def sweep(longest_seconds: float) -> None:
    """Remove this user's folders that are older than any submission takes. `longest_seconds`: what one may take."""
    border = time.time() - max(OLD_SECONDS, 10 * longest_seconds)
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            facts = folder.lstat()
            if facts.st_uid == os.geteuid() and facts.st_mtime < border and folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)
