"""What Gradescope would make of a `results.json`: the pitfalls that its documentation and users know of."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

from grader.places.gradescope.results import Format
from grader.results import Visibility

MOST_CHARACTERS = 100_000


class _Known(msgspec.Struct, kw_only=True):
    """Every key of a test that the service knows, none of them required."""

    score: float | None = None
    max_score: float | None = None
    status: str | None = None
    name: str | None = None
    name_format: Format | None = None
    number: str | None = None
    output: str | None = None
    output_format: Format | None = None
    tags: list[str] | None = None
    visibility: Visibility | None = None
    extra_data: dict[str, Any] | None = None


class _Top(msgspec.Struct, kw_only=True):
    """Every key at the top."""

    score: float | None = None
    execution_time: float | str | None = None
    output: str | None = None
    output_format: Format | None = None
    test_output_format: Format | None = None
    test_name_format: Format | None = None
    visibility: Visibility | None = None
    stdout_visibility: Visibility | None = None
    extra_data: dict[str, Any] | None = None
    tests: list[_Known] | None = None
    leaderboard: list[dict[str, Any]] | None = None


def validate(raw: bytes | None) -> tuple[list[str], dict[str, Any] | None]:
    """(what is wrong, in words; the results if they can be read at all). Nothing is wrong in an empty list."""
    if raw is None:
        return ["There is no results.json."], None
    try:
        results = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
    except ValueError as error:
        return [f"results.json is not valid JSON: {error}. Gradescope would append it to the output."], None
    if not isinstance(results, dict):
        return ["results.json does not hold an object."], None
    problems = []
    try:
        top = msgspec.convert(results, _Top)
    except msgspec.ValidationError as error:
        return [f"results.json: {error}."], None
    if top.score is None and top.tests is None:
        problems.append("There is neither a score nor a list of tests.")
    if top.score is not None and top.score < 0:
        problems.append("The score is negative.")
    outputs = [("the output at the top", top.output or "")]
    outputs += [(f"the output of {test.name!r}", test.output or "") for test in top.tests or []]
    problems += [
        f"{what} has {len(text)} characters; everything above {MOST_CHARACTERS} is cut out of its middle."
        for what, text in outputs
        if len(text) > MOST_CHARACTERS
    ]
    return problems + [f"{what} holds a NUL character." for what, text in outputs if "\0" in text], results


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")
