"""JUnit's XML of a run: a suite for each submission, a case for each check. Most build services can show it.

There is no official schema; this is what the readers of Jenkins, GitLab and GitHub have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from grader.results import CheckResult, Report
from grader.text import clean

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MOST = 8000


def junit(reports: Iterable[Report], title: str) -> bytes:
    """All reports as one document in UTF-8. For staff: it names hidden checks and people's work."""
    suites = ET.Element("testsuites", name=_plain(title))
    for report in reports:
        suites.append(_suite(report))
    for name in ("tests", "failures", "errors", "skipped"):
        suites.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    ET.indent(suites)
    document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(report: Report) -> ET.Element:
    def count(status: str) -> str:
        return str(sum(check.status == status for check in report.checks))

    suite = ET.Element(
        "testsuite",
        name=_plain(report.submission.id),
        tests=str(len(report.checks)),
        failures=count("failed"),
        errors=count("error"),
        skipped=count("skipped"),
        time=f"{report.seconds:.3f}",
    )
    if report.submission.submitted_at:
        suite.set("timestamp", _plain(report.submission.submitted_at))
    facts = {
        "score": f"{report.score:g}",
        "max_score": f"{report.max_score:g}",
        "people": ", ".join(person.id for person in report.submission.people),
        "digest": report.submission.digest,
        "seed_id": report.environment.seed_id,
        "sandbox": report.sandbox.level,
        "diagnoses": "; ".join(", ".join(found.misconceptions) for found in report.diagnoses),
        "flags": ", ".join(flag.id for flag in report.flags),
    }
    properties = ET.SubElement(suite, "properties")
    for name, value in facts.items():
        if value:
            ET.SubElement(properties, "property", name=name, value=_plain(value))
    for check in report.checks:
        suite.append(_case(report, check))
    return suite


def _case(report: Report, check: CheckResult) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=_plain(f"{report.assignment}.{report.submission.id}"),
        name=_plain(check.id),
        time=f"{check.seconds:.3f}",
    )
    kind = {"failed": "failure", "error": "error", "skipped": "skipped"}.get(check.status)
    if kind is not None:
        message = report.problem if report.problem and check.status == "failed" else check.message
        ending = ET.SubElement(case, kind, message=_plain(message or check.title))
        ending.text = _plain("\n".join(part for part in (check.title, check.hint, check.detail) if part))
    return case


def _plain(text: str) -> str:
    """Text that XML can hold."""
    return _NOT_XML.sub("\ufffd", clean(text, MOST))
