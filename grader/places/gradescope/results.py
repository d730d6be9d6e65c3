"""A report as Gradescope's `results.json`: the same words as in the report, in HTML that any sanitiser lets through.

Source: the page "Autograder Specifications" of Gradescope's documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from jinja2 import TemplateError

from grader.pages.check_view import Explainer, check_view
from grader.pages.excerpt import Code
from grader.pages.render import environment, template_error
from grader.pages.summary import Device, device_of
from grader.pages.view import view
from grader.pages.words import load_words, with_built_in
from grader.places.gradescope.change import since_last
from grader.results import CheckResult, Report, Struct, Visibility
from grader.text import clean

LIMIT = 90_000
"""Characters of one output. Gradescope cuts the middle out of anything above 100 000."""
PHASE: Literal["before_due"] = "before_due"
"""The text at the top is shown at once, so it says only what may be said at once; tests have their own visibility."""
Format = Literal["text", "html", "simple_format", "md", "ansi"]


class Test(Struct, frozen=True, kw_only=True):
    """One check."""

    __test__ = False  # not a test of ours, whatever its name

    name: str
    number: str
    status: Literal["passed", "failed"]
    score: float
    max_score: float
    output: str
    output_format: Format = "html"
    tags: list[str]
    visibility: Visibility
    extra_data: dict[str, Any]


class Results(Struct, frozen=True, kw_only=True):
    """The whole file."""

    score: float
    output: str
    output_format: Format = "html"
    test_output_format: Format = "html"
    test_name_format: Format = "text"
    visibility: Visibility = "visible"
    stdout_visibility: Visibility = "hidden"
    execution_time: float
    tests: list[Test]
    extra_data: dict[str, Any]


class Writer:
    """Turns reports into results with a course's templates and words."""

    def __init__(self, template_dirs: Sequence[Path] = ()) -> None:
        """Raises AssignmentError for a template or words that can't be used."""
        self.words = load_words(template_dirs)
        engine = environment(with_built_in(template_dirs))
        engine.globals.update(w=self.words)
        try:
            self._top = engine.get_template("gradescope/top.html.j2")
            self._check = engine.get_template("gradescope/check.html.j2")
        except TemplateError as error:
            raise template_error(error) from None

    def results(
        self,
        report: Report,
        *,
        seconds: float,
        previous: dict[str, Any] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The contents of `results.json`.

        Args:
            report: with lateness already among its adjustments.
            seconds: what the run took.
            previous: the results of the submission before this one, as the service gives them back.
            extra: more for `extra_data`.
        """
        tests = self.tests(report)
        since = since_last(tests, previous, self.words) if previous is not None else ""
        seen = view(report, self.words, audience="student", phase=PHASE)
        made = Results(
            score=round(max(0.0, report.score), 3),
            output=_fitting(self._top.render(report=seen, since=since)),
            execution_time=round(seconds, 2),
            tests=tests,
            extra_data={**_facts(report), **(extra or {})},
        )
        built: dict[str, Any] = msgspec.to_builtins(made)
        return built

    def tests(self, report: Report) -> list[Test]:
        """One for each check, in order; twins on the accelerator share the number before the point."""
        devices = {check.id: device_of(check, report) for check in report.checks}
        views = {check.id: check_view(check, "", devices[check.id], self.words, "student") for check in report.checks}
        explainer = Explainer(views, Code(report.sources), self.words)
        numbers = _numbers([check.id for check in report.checks])
        tests = []
        for check, number in zip(report.checks, numbers, strict=True):
            seen = views[check.id]
            explained = explainer.reasons([check])[0] if check.status != "passed" else None
            tests.append(
                Test(
                    name=f"{seen.title} ({seen.where})" if seen.where else seen.title,
                    number=number,
                    status="passed" if check.status == "passed" else "failed",
                    score=round(check.score, 3),
                    max_score=round(check.max_score, 3),
                    output=_fitting(self._check.render(check=seen, explained=explained)),
                    tags=_tags(check, devices[check.id]),
                    visibility=check.visibility,
                    extra_data={"id": check.id, "status": check.status, "seconds": check.seconds},
                )
            )
        return tests


def _fitting(html: str) -> str:
    """At most LIMIT characters, cut before a paragraph: those stand in no other element."""
    html = html.strip()
    return html if len(html) <= LIMIT else html[: max(0, html.rfind("\n<p>", 0, LIMIT))]


def _numbers(ids: list[str]) -> list[str]:
    """ "1", "2.1", "2.2", "3": checks of one function share the number before the point."""
    bases = [id.partition("[")[0] for id in ids]
    order = {base: at for at, base in enumerate(dict.fromkeys(bases), 1)}
    seen: dict[str, int] = {}
    numbers = []
    for base in bases:
        seen[base] = seen.get(base, 0) + 1
        numbers.append(f"{order[base]}.{seen[base]}" if bases.count(base) > 1 else str(order[base]))
    return numbers


def _tags(check: CheckResult, device: Device) -> list[str]:
    tags = [check.device]
    if device == "emulated":
        tags.append("emulated")
    if check.status in ("error", "skipped"):
        tags.append(check.status)
    return tags


def _facts(report: Report) -> dict[str, Any]:
    """What staff may want to count over the whole class. Students don't see it; still there is no secret in it."""
    environment = report.environment
    return {
        "grader": environment.grader,
        "assignment": report.assignment,
        "assignment_digest": environment.assignment_digest,
        "submission_digest": report.submission.digest,
        "seed_id": environment.seed_id,
        "status": report.status,
        "sandbox": {"level": report.sandbox.level, "layers": list(report.sandbox.layers)},
        "device": environment.device,
        "versions": {"torch": environment.torch, "python": environment.python},
        "diagnoses": [
            {
                "misconceptions": found.misconceptions,
                "title": clean(found.title, 400),
                "alternatives": found.alternatives,
            }
            for found in report.diagnoses
        ],
        "flags": [{"id": clean(flag.id, 80), "message": clean(flag.message, 1000)} for flag in report.flags],
        "adjustments": [
            {"kind": change.kind, "points": change.points, "reason": clean(change.reason, 1000)}
            for change in report.adjustments
        ],
    }
