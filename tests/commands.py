"""The command line for tests: as a user starts it, or in this process, which has torch already.

A fresh interpreter costs a second or more, nearly all of it for importing torch. Only what is about the start of a
process needs one; everything else is the same code either way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.__main__ import main

COMMAND = (sys.executable, "-m", "grader")
WIDE = {"COLUMNS": "200"}
"""No line of what is printed breaks where a test looks for it."""


def fresh(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does: a process of its own."""
    given = os.environ | {"OMP_NUM_THREADS": "1"} | WIDE | environment
    words = [*COMMAND, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=given)


def here(monkeypatch: pytest.MonkeyPatch, root: Path, *arguments: object) -> int:
    """Run the command in this process, from the course's folder; the exit status."""
    with monkeypatch.context() as patched:
        for name, value in (WIDE | {"GRADER_CLEAN": "1"}).items():
            patched.setenv(name, os.environ.get(name, value))
        patched.setattr(sys, "argv", ["grader", "--root", str(root), *map(str, arguments)])
        patched.chdir(root)
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)
