"""What became better or worse since the submission before, as far as the student may see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from grader.pages.words import Words

_NAMED = 4


class Shown(Protocol):
    """What is needed of a test of now."""

    @property
    def name(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def visibility(self) -> str: ...
    @property
    def extra_data(self) -> dict[str, Any]: ...


def since_last(tests: Sequence[Shown], previous: dict[str, Any], words: Words) -> str:
    """One or two sentences; "" when the earlier results can't be compared.

    `previous` comes from the service, which fills in what we left out and may leave out what we wrote.
    """
    before = {key: passed for key, passed in map(_earlier, _tests(previous)) if key}
    both = [test for test in tests if test.visibility == "visible" and _key(test) in before]
    better = [test.name for test in both if test.status == "passed" and not before[_key(test)]]
    worse = [test.name for test in both if test.status != "passed" and before[_key(test)]]
    sentences = [
        words[key].format(titles=_listed(names, words))
        for key, names in (("since_last_better", better), ("since_last_worse", worse))
        if names
    ]
    if not sentences and both:
        return words["since_last_same"]
    return " ".join(sentences)


def _key(test: Shown) -> str:
    return str(test.extra_data["id"])


def _tests(previous: dict[str, Any]) -> list[dict[str, Any]]:
    tests = previous.get("tests")
    return [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []


def _earlier(test: dict[str, Any]) -> tuple[str, bool]:
    """(id of the check, whether it passed); an empty id for what was not visible or not ours."""
    extra = test.get("extra_data")
    key = extra.get("id") if isinstance(extra, dict) else None
    visible = test.get("visibility") in (None, "visible")
    return (key if isinstance(key, str) and visible else ""), test.get("status") == "passed"


def _listed(names: list[str], words: Words) -> str:
    quoted = [words["title_quoted"].format(title=name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        return words["since_last_more"].format(titles=", ".join(quoted), count=len(names) - _NAMED)
    if len(quoted) > 1:
        return words["list_two"].format(first=", ".join(quoted[:-1]), second=quoted[-1])
    return quoted[0]
