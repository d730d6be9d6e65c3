"""The class on one page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import reports

from grader.errors import AssignmentError
from grader.pages.class_rows import Class
from grader.pages.class_view import ClassView, class_view
from grader.pages.dashboard import dashboard
from grader.pages.words import load_words
from grader.results import Adjustment, DiagnosisResult, Flag, Report


def look(made: list[Report]) -> ClassView:
    """The figures of a class of these reports."""
    group = Class()
    for report in made:
        group.add(report)
    return class_view(group, reports.run_info(len(made)), load_words())


def data(page: str) -> Any:
    """What the page hands to its script."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def graded(passed: list[bool], id: str) -> Report:
    return reports.report([reports.check(at, passed=good) for at, good in enumerate(passed)], id=id)


def test_every_submission_is_in_the_table_with_what_staff_sort_and_filter_by() -> None:
    """Name, id, score, status, checks, diagnosis, flags, changes and time."""
    made = [reports.right(), reports.wrong(), reports.unread()]
    table = data(dashboard(made, reports.run_info(3)))
    assert [row[:2] for row in table["rows"]] == [["s002", "Noor Haddad"], ["s001", "Ada Byron"], ["s004", "Jun Park"]]
    row = table["rows"][1]
    assert row[3] == 42.5
    assert row[5] == "ppppffffpfppppf"
    assert [table["misconceptions"][at] for at in row[6]] == [
        "The mask is never applied",
        "Your function returns (output, weights) in this order, as it should.",
    ]
    assert [table["flags"][at] for at in row[7]] == ["slow"]
    assert row[8] == -3.5
    assert [table["states"][row[4]][0] for row in table["rows"]] == ["right", "partly", "problem"]


def test_the_reports_are_read_one_at_a_time() -> None:
    """A class of any size fits in memory: no report is kept."""
    alive = 0

    class Watched(Report, frozen=True):  # a report that counts how many of its kind are alive
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def stream() -> Iterator[Report]:
        nonlocal alive
        for report in reports.a_class(20):
            alive += 1
            yield Watched(**{name: getattr(report, name) for name in Report.__struct_fields__})
            del report
            assert alive <= 2

    dashboard(stream(), reports.run_info(20))
    assert alive == 0


def test_a_check_that_nothing_else_failed_beside_is_counted_as_deciding() -> None:
    """Failing one check on both devices is failing one check."""
    lines = look(
        [graded([False, False, True], "a"), graded([True, True, False], "b"), graded([False, False, False], "c")]
    ).checks
    assert [(line.id, line.passed, line.alone) for line in lines] == [
        ("shape", 1, 1),
        ("shape[gpu]", 1, 1),
        ("rows_sum_to_one", 1, 1),
    ]
    assert [line.twin for line in lines] == ["", "on an emulated GPU", ""]


def test_discrimination_needs_enough_submissions_that_ran() -> None:
    """Of a handful nothing is said; work that could not be run is left out."""
    few = [graded([at % 2 == 0, True, at % 2 == 0], str(at)) for at in range(8)]
    assert {line.discrimination for line in look(few).checks} == {"–"}
    many = [graded([at % 2 == 0, True, at % 2 == 0], str(at)) for at in range(20)]
    lines = look([*many, *(reports.unread() for _ in range(5))]).checks
    assert [line.discrimination for line in lines[:3]] == ["1.00", "–", "1.00"]
    assert not lines[0].weak


def test_a_check_that_tells_the_wrong_way_round_is_pointed_out() -> None:
    """Good students fail it: something is wrong with the check."""
    lines = look([graded([at % 2 == 0, True, at % 2 == 1], str(at)) for at in range(20)]).checks
    assert lines[0].weak
    assert lines[0].discrimination == "−1.00"


def test_the_strip_of_a_check_orders_the_class_from_best_to_worst() -> None:
    """One unit a student, runs joined."""
    made = [graded([False, True, False], "low"), graded([True, True, True], "top"), graded([True, True, False], "mid")]
    assert look(made).checks[0].paths == {"p": "M0 0h2v1h-2z", "f": "M2 0h1v1h-1z"}


def test_misconceptions_flags_limits_and_slowest_are_counted_with_examples() -> None:
    """An instructor sees how many and can open some."""
    flagged = reports.report([reports.check(0)], id="f", flags=[Flag(id="limit.time", message="3 s")], seconds=9.0)
    seen = look([reports.wrong(), reports.right(), flagged])
    assert [(idea.title, idea.count, idea.percent) for idea in seen.misconceptions] == [
        ("The mask is never applied", 1, "33 %")
    ]
    assert [row.name for row in seen.misconceptions[0].examples] == ["Ada Byron"]
    assert (seen.limited, seen.flagged) == (1, 2)
    assert [flag.id for flag in seen.flags] == ["limit.time", "slow"]
    assert seen.slowest[0].id == "f"
    assert (seen.states["right"], seen.median, seen.max_score) == (2, "42.5", "100")


def test_what_is_only_ever_had_with_another_idea_has_its_title() -> None:
    """Of two ideas that one student has, each is counted under its own title, and not under its id."""
    titles = ["The scores are not divided by √d_k", "The mask is never applied"]
    both = DiagnosisResult(misconceptions=["a", "b"], titles=titles, title=", and ".join(titles), explanation="")
    seen = look([reports.report([reports.check(0)], diagnoses=[both])])
    assert [idea.title for idea in seen.misconceptions] == titles


def test_other_ways_of_calling_are_listed_apart_from_misconceptions_with_what_they_cost() -> None:
    """Often the commonest of all: who reads the mask the wrong way round counts, also where more was recognised."""
    lone = "Your function returns only the output. Return both."
    both = reports.called_otherwise("c", words=f"{lone} {reports.INVERTED}")
    price = [Adjustment(kind="convention", points=-10.0, reason="...")]
    priced = reports.report([reports.check(0)], id="d", conventions=[lone], translated=True, adjustments=price)
    made = [reports.called_otherwise("a"), reports.called_otherwise("b"), both, priced, reports.right()]
    seen = look(made)
    lost = 100 - 25
    assert seen.misconceptions == []
    assert [(way.title, way.count, way.percent, way.cost) for way in seen.callings] == [
        ("Your function hides the keys where the mask is True or 1.", 3, "60 %", f"costs {lost} points on average"),
        ("Your function returns only the output.", 2, "40 %", f"costs {(lost + 10) / 2:g} points on average"),
    ]
    page = dashboard(made, reports.run_info(5))
    table = data(page)
    assert [len(row[6]) for row in table["rows"]] == [1, 1, 2, 1, 0]
    assert "costs 75 points on average" in page


def test_who_handed_nothing_in_is_in_the_table_and_in_no_figure() -> None:
    """A roster's empty seats do not draw the class down, and are not among those whose code could not be run."""
    made = [reports.right(), reports.unread(), reports.absent("x"), reports.absent("y")]
    seen = look(made)
    assert (seen.size, seen.mean, seen.median) == (2, "50", "50")
    assert (seen.states["problem"], seen.states["missing"]) == (1, 2)
    assert sum(bar.count for bar in seen.bars) == 2
    assert (seen.checks[0].passed, seen.checks[0].tried) == (1, 2)
    page = dashboard(made, reports.run_info(4))
    assert "Handed nothing in" in page
    assert "Handed nothing in" not in dashboard(made[:2], reports.run_info(2))
    assert [(row[0], row[5].strip()) for row in data(page)["rows"][2:]] == [("x", ""), ("y", "")]


def test_a_fault_of_ours_is_at_the_top_of_the_page() -> None:
    """Nobody overlooks that some marks are not final."""
    assert 'class="card banner"' in dashboard([reports.fault()], reports.run_info(1))
    assert 'class="card banner"' not in dashboard([reports.right()], reports.run_info(1))


def test_checks_that_only_some_reports_have_keep_their_own_column() -> None:
    """Results from before a change of the assignment do not shift into the wrong column."""
    old = reports.report([reports.check(2)], id="old")
    new = reports.report([reports.check(0, passed=False), reports.check(2)], id="new")
    table = data(dashboard([old, new], reports.run_info(2)))
    assert table["ids"] == ["rows_sum_to_one", "shape"]
    assert [row[5] for row in table["rows"]] == ["p", "pf"]


def test_a_class_of_nobody_has_a_page() -> None:
    """An empty run is no error of the page."""
    assert "Submissions" in dashboard([], reports.run_info(0))


def test_two_thousand_students_make_a_small_page() -> None:
    """Under 5 MB, and it grows by little with each student."""
    small, large = (len(dashboard(reports.a_class(size), reports.run_info(size))) for size in (100, 600))
    assert small < 100_000
    assert (large - small) / 500 < 500


def test_hostile_names_can_not_leave_the_data_of_the_page() -> None:
    """No text closes the script element, and ids are addresses only after quoting."""
    page = dashboard([reports.hostile()], reports.run_info(1))
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert data(page)["rows"][0][0] == 's006"><script>'
    assert 'href="feedback/s006%22%3E%3Cscript%3E.html"' in page
    assert not re.search("[\x00\x1b\u202e]", page)


def test_the_page_allows_only_its_own_script() -> None:
    """The policy names the hash of the one script; nothing may be loaded."""
    page = dashboard([reports.right()], reports.run_info(1))
    policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)[0].replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/]+='", policy)
    assert "unsafe" not in policy
    assert not re.search(r"\son\w+=|\sstyle=|\ssrc=", page)


def test_a_template_of_the_course_is_used_and_its_mistakes_are_named(tmp_path: Path) -> None:
    """The class page can be replaced like the reports."""
    (tmp_path / "index.html.j2").write_text("{{ group.size }} {{ group.oops }}")
    with pytest.raises(AssignmentError, match="no attribute 'oops'"):
        dashboard([reports.right()], reports.run_info(1), template_dirs=[tmp_path])


def test_late_work_shows_its_change_and_not_another_status() -> None:
    """All checks passed stays "all right"; the points that were taken off stand in their own column."""
    late = reports.report([reports.check(0)], adjustments=[Adjustment(kind="late", points=-1, reason="One day.")])
    table = data(dashboard([late], reports.run_info(1)))
    assert (table["rows"][0][3], table["rows"][0][8]) == (7, -1)
    assert table["states"][table["rows"][0][4]][0] == "right"
