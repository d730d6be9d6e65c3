"""A submission over the limit of attempts: it is not graded, and the result of the last one that counts stands."""

from __future__ import annotations

from typing import Any

from grader.places.gradescope.metadata import Metadata, Previous
from grader.places.gradescope.tree import excuse
from grader.rules import late

STANDING = "standing_since"
"""Key in `extra_data` of results that were given again: the note that stands before them."""


def number(metadata: Metadata) -> int:
    """Which attempt this is; 1 is the first."""
    return len(metadata.counted) + 1


def standing(limit: int, metadata: Metadata) -> dict[str, Any] | None:
    """The results that stand because the limit is used up, with a note why; None when this submission is graded.

    Also None when the service does not give back anything of the attempt that counts: then this one is graded, and
    a note on it leaves the decision to the teachers.
    """
    this = number(metadata)
    if not limit or this <= limit:
        return None
    counted = metadata.counted[limit - 1]
    results = _of(counted, metadata)
    note = late.attempts(limit, limit, this)
    assert note is not None
    if results is not None:
        return _again(results, counted, note.reason)
    return None if counted.score is None else {**excuse(note.reason), "score": max(0.0, counted.score)}


def _of(counted: Previous, metadata: Metadata) -> dict[str, Any] | None:
    """The results of that attempt: its own, or as a later one over the limit was given them again."""
    later = [one for one in metadata.counted if one.submitted_at == counted.submitted_at or _given_again(one)]
    return next((one.results for one in later if one.results is not None), None)


def _given_again(one: Previous) -> bool:
    extra = one.results.get("extra_data") if one.results else None
    return isinstance(extra, dict) and STANDING in extra


def _again(results: dict[str, Any], counted: Previous, note: str) -> dict[str, Any]:
    """Old results as new ones: without what the service filled in, and with one note before what was said then."""
    kept: dict[str, Any] = _without_nothing(results)
    extra = kept.get("extra_data", {})
    said = str(extra.get(STANDING, kept.get("output", "")))
    html = kept.get("output_format") == "html"
    score = kept.get("score", counted.score)
    kept.update(
        output=f"<p><strong>{note}</strong></p>\n{said}" if html else f"{note}\n\n{said}",
        stdout_visibility="hidden",
        extra_data={**extra, STANDING: said},
    )
    if score is not None:
        kept["score"] = score
    return kept


def _without_nothing(value: Any) -> Any:
    """The value without keys that hold null: the service adds every key that it knows."""
    if isinstance(value, dict):
        return {key: _without_nothing(item) for key, item in value.items() if item is not None}
    return [_without_nothing(item) for item in value] if isinstance(value, list) else value
