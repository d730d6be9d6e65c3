"""JUnit's XML: every check of every submission, readable by any service."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from grader.places.junit import junit
from tests import reports


def document() -> ET.Element:
    made = [reports.right(), reports.wrong(), reports.unread(), reports.fault(), reports.hostile()]
    return ET.fromstring(junit(made, "Self-attention"))


def test_counts_and_cases_agree() -> None:
    """Each suite's numbers are those of its cases, and the whole's are the sums."""
    root = document()
    for suite in root:
        for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(name, "")) == len(suite.findall(f"testcase/{kind}"))
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
    assert int(root.get("tests", "")) == len(root.findall("testsuite/testcase"))


def test_a_failure_says_why_and_an_error_is_ours() -> None:
    """Staff find the message, the hint and the detail; a check that broke is an error, one not run is skipped."""
    _, wrong, unread, fault, _ = document()
    failure = wrong.find("testcase[@name='causal_zero']/failure")
    assert failure is not None
    assert "exactly 0" in failure.get("message", "")
    assert "A masked score" in (failure.text or "")
    assert "AssertionError" in (failure.text or "")
    assert "colon is missing" in unread.findall("testcase/failure")[0].get("message", "")
    assert len(fault.findall("testcase/error")) == 1
    assert len(fault.findall("testcase/skipped")) == 1


def test_properties_hold_the_score_and_the_diagnosis() -> None:
    """What a mark came from can be read from the file alone."""
    _, wrong, *_ = document()
    properties = {item.get("name"): item.get("value") for item in wrong.findall("properties/property")}
    assert properties["score"] == f"{reports.wrong().score:g}"
    assert properties["diagnoses"] == "mask_result_dropped"


def test_text_that_xml_can_t_hold_is_left_out() -> None:
    """NUL, terminal sequences and markup in students' texts keep the file well-formed."""
    made = junit([reports.hostile()], "a\x00b\ufffe<c>")
    assert ET.fromstring(made).get("name") == "ab<c>"
    assert b"\x1b" not in made
