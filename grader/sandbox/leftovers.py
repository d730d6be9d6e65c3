"""Folders with students' files that a killed marker could not remove."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "submission-"
"""How the folder of a submission begins."""
OLD_SECONDS = 3600.0


def sweep(longest_seconds: float) -> None:
    """Remove this user's folders that are older than any submission takes. `longest_seconds`: what one may take."""
    border = time.time() - max(OLD_SECONDS, 10 * longest_seconds)
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            facts = folder.lstat()
            if facts.st_uid == os.geteuid() and facts.st_mtime < border and folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)
