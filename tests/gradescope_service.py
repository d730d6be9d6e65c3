"""Gradescope as its documentation describes it: the schema of `results.json`, and metadata as real files look."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

import jsonschema

_VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
_FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
_OUTPUT = {"type": "string", "maxLength": 100_000, "pattern": "^[^\\u0000]*$"}

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "anyOf": [{"required": ["score"]}, {"required": ["tests"]}],
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": ["number", "string"]},
        "output": _OUTPUT,
        "output_format": _FORMAT,
        "test_output_format": _FORMAT,
        "test_name_format": _FORMAT,
        "visibility": _VISIBILITY,
        "stdout_visibility": _VISIBILITY,
        "extra_data": {"type": "object"},
        "leaderboard": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "value"],
                "properties": {
                    "name": {"type": "string"},
                    "value": {"type": ["number", "string"]},
                    "order": {"enum": ["asc", "desc"]},
                },
            },
        },
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": _FORMAT,
                    "number": {"type": "string"},
                    "output": _OUTPUT,
                    "output_format": _FORMAT,
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": _VISIBILITY,
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
}
"""Written from the documentation, independently of the code that is tested."""

TAGS = {"p", "strong", "em", "code", "pre", "ul", "li"}
"""What any sanitiser lets through."""


def accepted(raw: bytes | str) -> dict[str, Any]:
    """The results, once they are valid for the service."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    results: dict[str, Any] = json.loads(raw, parse_constant=refuse)
    jsonschema.validate(results, SCHEMA)
    for text in outputs(results):
        assert_plain_tags(text)
    return results


def outputs(results: Mapping[str, Any]) -> Iterator[str]:
    """Everything that is shown as HTML."""
    for one in (results, *results.get("tests", [])):
        if one.get("output_format") == "html":
            yield one["output"]


def assert_plain_tags(text: str) -> None:
    """Only such tags, without attributes, each closed where it should be."""

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            assert tag in TAGS, tag
            assert not attributes, attributes
            self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open


def submitted(**changes: Any) -> dict[str, Any]:
    """`submission_metadata.json` of Ada's first submission, two days before it is due; `changes` replace keys."""
    dates = {"release_date": "2026-01-20T09:00:00.000000-08:00", "due_date": "2026-02-03T23:59:00.000000-08:00"}
    return {
        "id": 501,
        "created_at": "2026-02-02T01:30:00.250000-08:00",
        "assignment_id": None,
        "submission_method": "upload",
        "assignment": {
            "id": 77,
            "course_id": 9,
            "title": "Twice",
            "total_points": "10.0",
            **dates,
            "late_due_date": None,
            "group_submission": False,
            "group_size": None,
        },
        "users": [user("ada", dates["due_date"])],
        "previous_submissions": [],
        **changes,
    }


def user(name: str, due: str) -> dict[str, Any]:
    """A member of the group with a due date of their own."""
    return {
        "id": len(name),
        "email": f"{name}@uni.example",
        "name": name.title(),
        "sid": f"u-{name}",
        "assignment": {"release_date": None, "due_date": due, "late_due_date": None},
    }


def previous(number: int, results: Mapping[str, Any] | None, **changes: Any) -> dict[str, Any]:
    """An earlier submission: number 1 was made on the first of February at 01:00. `results` come back normalised."""
    return {
        "id": 400 + number,
        "submission_time": f"2026-02-01T{number:02d}:00:00.000000-08:00",
        "score": None if results is None or results.get("score") is None else str(results["score"]),
        "autograder_error": False,
        "results": None if results is None else normalised(results),
        **changes,
    }


def normalised(results: Mapping[str, Any]) -> dict[str, Any]:
    """Results as the service keeps them: every key that it knows, null where there was none."""
    test_keys = [*SCHEMA["properties"]["tests"]["items"]["properties"]]
    top = {key: results.get(key) for key in SCHEMA["properties"] if key != "stdout_visibility"}
    tests = [{key: test.get(key) for key in test_keys} for test in results.get("tests", [])]
    return {**top, "leaderboard": [], "tests": tests}
