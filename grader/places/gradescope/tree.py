"""The folder /autograder, as Gradescope lays it out before each run."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.run_directory import write

RESERVE_SECONDS = 5.0
RESERVE_FRACTION = 0.1
DEFAULT_SECONDS = 600.0
"""Gradescope's own limit where nobody has chosen another."""


@dataclass(frozen=True)
class Tree:
    """Where everything is. `root` is /autograder on Gradescope and some temporary folder in a rehearsal."""

    root: Path

    @property
    def submission(self) -> Path:
        return self.root / "submission"

    @property
    def metadata(self) -> Path:
        return self.root / "submission_metadata.json"

    @property
    def results(self) -> Path:
        return self.root / "results" / "results.json"

    def close_to_students(self) -> None:
        """Take away what other users may do with this run's files; the service laid them out without a thought."""
        for path in (self.submission, self.metadata, self.results.parent):
            with contextlib.suppress(OSError):
                os.chmod(path, 0o700 if path.is_dir() else 0o600)  # noqa: PTH101 - pathlib would only wrap it

    def write(self, results: dict[str, Any]) -> None:
        """Replace the results in one step. Raises ValueError for a number that JSON can't hold."""
        self.results.parent.mkdir(parents=True, exist_ok=True)
        write(self.results, json.dumps(results, allow_nan=False, ensure_ascii=False, indent=1) + "\n")


def excuse(words: str) -> dict[str, Any]:
    """Results for when there are none: no points, and why in words for the student."""
    return {"score": 0.0, "output": words, "output_format": "text", "stdout_visibility": "hidden", "tests": []}


def fault(words: str) -> dict[str, Any]:
    """Such results where the mistake is ours. `metadata` recognises them, so that they use up no attempt."""
    return {**excuse(words), "extra_data": {"status": "error"}}


def budget(timeout: str | None) -> float:
    """Seconds that a run may take when the service stops it after `timeout` (as its variable says it; None if unset).

    The service would throw away everything, so the run ends a tenth and 5 seconds earlier, yet never before 1 second.
    """
    try:
        limit = float(timeout or DEFAULT_SECONDS)
    except ValueError:
        limit = DEFAULT_SECONDS
    if not 0 < limit < 1e6:
        limit = DEFAULT_SECONDS
    return max(1.0, limit * (1 - RESERVE_FRACTION) - RESERVE_SECONDS)
