"""Lateness, extensions, attempts and decisions of staff: fair, visible, and never mixed into what checks gave."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import intake
from grader.assignment import Late
from grader.errors import AssignmentError, UsageError
from grader.intake.entry import Entry
from grader.results import Adjustment, CheckResult, EnvironmentInfo, Person, Report, SandboxInfo, SubmissionInfo, total
from grader.rules import late
from grader.rules.decisions import Extension, Manual, read_adjustments, read_extensions
from grader.rules.policy import Policy, notes, policy
from grader.rules.times import moment
from tests import course

DUE = "2026-03-02T23:59:00+01:00"
RULES = Late(due=DUE, deduction=0.1, per="day")


def report(
    submitted_at: str = "", score: float = 80.0, people: tuple[str, ...] = ("u1",), attempt: int = 0, attempts: int = 0
) -> Report:
    """A report of `score` out of 100 points."""
    check = CheckResult(id="all", title="All", status="failed", score=score, max_score=100.0)
    return Report(
        assignment="double",
        title="Twice",
        submission=SubmissionInfo(
            id="ada",
            files=["double.py"],
            digest="d",
            people=[Person(id=one, email=f"{one}@uni.example") for one in people],
            submitted_at=submitted_at,
            attempt=attempt,
            attempts=attempts,
        ),
        status="graded",
        score=score,
        max_score=100.0,
        checks=[check],
        sandbox=SandboxInfo(level="A", layers=[]),
        environment=EnvironmentInfo(grader="1", torch="2", python="3", seed_id="s"),
    )


def off(rules: Late, submitted_at: str, score: float = 80.0) -> float | None:
    """Points taken off out of 100."""
    found = late.adjustment(rules, rules.due, submitted_at, 100.0, score)
    return None if found is None else found.points


@pytest.mark.parametrize(
    ("submitted_at", "points"),
    [
        ("2026-03-02T23:59:00+01:00", None),
        ("2026-03-02T22:59:00Z", None),
        ("2026-03-02T23:59:01+01:00", -10.0),
        ("2026-03-03T23:59:00+01:00", -10.0),
        ("2026-03-03T23:59:00.000001+01:00", -20.0),
        ("2026-03-02T17:00:00-08:00", -10.0),
        ("", None),
        ("yesterday", None),
    ],
)
def test_each_started_day_counts_whatever_the_zone(submitted_at: str, points: float | None) -> None:
    """One second late is one day, a whole day late still one; a time that is not told costs nothing."""
    assert off(RULES, submitted_at) == points


def test_lateness_starts_when_the_grace_ends() -> None:
    """Fifteen minutes of grace hold at every border: 24 hours and 10 minutes late is one day."""
    rules = msgspec.structs.replace(RULES, grace_minutes=15)
    assert off(rules, "2026-03-03T00:14:00+01:00") is None
    assert off(rules, "2026-03-03T00:14:01+01:00") == -10.0
    assert off(rules, "2026-03-04T00:14:00+01:00") == -10.0


def test_hours_can_count_instead_of_days() -> None:
    """With per = "hour" each started hour costs its share."""
    assert off(msgspec.structs.replace(RULES, per="hour", deduction=0.01), "2026-03-03T02:30:00+01:00") == -3.0


def test_a_cap_and_a_floor_bound_what_is_taken() -> None:
    """The cap bounds the deduction; the floor keeps what was earned up to it, and lifts nobody."""
    far = "2026-04-02T23:59:00+01:00"
    assert off(msgspec.structs.replace(RULES, cap=0.3), far) == -30.0
    assert off(msgspec.structs.replace(RULES, floor=0.5), far) == -30.0
    assert off(msgspec.structs.replace(RULES, floor=0.5), far, score=40.0) == 0.0
    assert off(RULES, far) == -80.0


@given(
    st.floats(0, 100),
    st.integers(0, 10**7),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(["hour", "day"]),
)
def test_lateness_never_adds_points_nor_goes_below_zero(
    score: float, seconds: int, deduction: float, cap: float, floor: float, per: str
) -> None:
    """Whatever the policy, later never gives more, and the score stays between 0 and what it was."""
    rules = msgspec.convert(
        {"due": DUE, "deduction": deduction, "cap": cap, "floor": floor, "per": per}, Late
    )  # as from a file
    score = round(score, 3)
    taken = []
    for more in (seconds, seconds + 5000):
        when = moment(DUE, "due") + late.timedelta(seconds=more)
        points = off(rules, when.isoformat(), score) or 0.0
        assert -score <= points <= 0
        taken.append(points)
    assert taken[1] <= taken[0]


def test_the_reason_can_be_followed_by_the_student() -> None:
    """It says how late, when the due date was, what each day costs, and what bounded it."""
    rules = msgspec.structs.replace(RULES, grace_minutes=15, cap=0.25)
    found = late.adjustment(rules, DUE, "2026-03-05T03:00:00+01:00", 100.0, 80.0)
    assert found is not None
    assert found.kind == "late"
    assert found.reason == (
        "Handed in 2 days 3 hours after the due date (2026-03-02 23:59 +01:00). The first 15 minutes do not count. "
        "Each started day costs 10% of the maximum: 3 days, 30%. At most 25% is taken off."
    )


@pytest.mark.parametrize(("due", "words"), [("2026-03-02T23:59:00", "offset"), ("Monday", "not a time")])
def test_a_due_date_without_zone_is_an_error_that_names_its_key(tmp_path: Path, due: str, words: str) -> None:
    """Without an offset the date would be another moment on each machine: the file and the key are named."""
    with pytest.raises(AssignmentError, match=words) as caught:
        course.make(tmp_path, settings=course.SETTINGS + f'\n[late]\ndue = "{due}"\ndeduction = 0.1\n')
    assert "assignment.toml: late.due" in str(caught.value)


def test_a_date_needs_no_quotation_marks(tmp_path: Path) -> None:
    """TOML's own dates mean the same as dates in quotation marks."""
    settings = course.SETTINGS + "\n[late]\ndue = 2026-03-02T23:59:00+01:00\n"
    assert course.make(tmp_path, settings=settings).settings.late.due == DUE


def test_a_share_above_one_is_refused_with_its_key(tmp_path: Path) -> None:
    """`deduction = 10` was meant as a percentage: the key is named."""
    with pytest.raises(AssignmentError, match=r"late\.deduction"):
        course.make(tmp_path, settings=course.SETTINGS + "\n[late]\ndeduction = 10\n")


def test_a_moved_due_date_gives_nobody_another_test(tmp_path: Path) -> None:
    """Inputs are drawn from the assignment's digest, so the due date is no part of it."""
    with_date = course.make(tmp_path / "a", settings=course.SETTINGS + f'\n[late]\ndue = "{DUE}"\n')
    assert with_date.digest() == course.make(tmp_path / "b").digest()
    longer = course.SETTINGS.replace("call_seconds = 1", "call_seconds = 2")
    assert with_date.digest() != course.make(tmp_path / "c", settings=longer).digest()


def test_a_policy_changes_the_sum_and_no_check() -> None:
    """The checks keep their scores; the report says what was taken and why; the score is the sum of both."""
    late_report = Policy(late=RULES)(report("2026-03-03T12:00:00+01:00"))
    assert late_report.checks[0].score == 80.0
    assert [change.kind for change in late_report.adjustments] == ["late"]
    assert late_report.score == total(late_report.checks, late_report.adjustments) == 70.0


def test_a_policy_can_be_put_on_again() -> None:
    """On a report that has it already it changes nothing; another one replaces it and leaves the marker's own."""
    convention = Adjustment(kind="convention", points=-5.0, reason="Called with other names.")
    raw = msgspec.structs.replace(report("2026-03-03T12:00:00+01:00"), adjustments=[convention], score=75.0)
    rules = Policy(late=RULES, manual={"u1": [Manual(2.0, "Shown in class.")]})
    once = rules(raw)
    assert once.score == 67.0
    assert rules(once) is once
    assert Policy()(once) == raw


def test_an_extension_moves_the_due_date_and_is_seen() -> None:
    """Work in the extra time costs nothing and says so; beyond it lateness counts from there."""
    rules = Policy(late=RULES, extensions={"u1": Extension(extra_seconds=2 * 86400)})
    in_time = rules(report("2026-03-04T12:00:00+01:00"))
    assert (in_time.score, in_time.adjustments[0].points) == (80.0, 0.0)
    assert "moved to 2026-03-04 23:59 +01:00" in in_time.adjustments[0].reason
    assert rules(report("2026-03-05T12:00:00+01:00")).score == 70.0
    assert rules(report("2026-03-01T12:00:00+01:00")).adjustments == []


def test_a_group_has_the_latest_due_date_of_its_members() -> None:
    """An extension for one member is one for their common work."""
    rules = Policy(late=RULES, extensions={"u2@uni.example": Extension(due="2026-03-04T23:59:00+01:00")})
    assert rules(report("2026-03-04T12:00:00+01:00", people=("u1", "u2"))).score == 80.0


def test_attempts_over_the_limit_are_named() -> None:
    """The student reads which attempt was graded; it costs nothing by itself."""
    rules = Policy(late=Late(attempts=3))
    noted = rules(report(attempt=3, attempts=5)).adjustments
    assert [change.points for change in noted] == [0.0]
    assert noted[0].reason == "You handed in 5 times; the first 3 count. Attempt 3 was graded."
    assert rules(report(attempt=3, attempts=3)).adjustments == []
    assert "your teachers decide" in rules(report(attempt=5, attempts=5)).adjustments[0].reason


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_extensions_are_read_from_a_spreadsheet(tmp_path: Path) -> None:
    """Any delimiter, a date or a length of time, ids without regard to case."""
    path = write(tmp_path / "e.csv", "\ufeffID;Due;Extra\r\nU1;2026-03-04T23:59:00+01:00;\r\nu2;;1 day 12 h\r\n;;\r\n")
    assert read_extensions(path) == {
        "u1": Extension(due="2026-03-04T23:59:00+01:00"),
        "u2": Extension(extra_seconds=36 * 3600.0),
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,due\nu1,2026-03-04\n", "line 2: due"),
        ("id,extra\nu1,soon\n", "line 2: extra"),
        ("id,extra\nu1,999999999999 days\n", "line 2: extra: .* is more than 1000 days"),
        ("id,extra\nu1,2 days\nU1,3 days\n", "line 3: U1 has an extension in line 2"),
        ("id,due,extra\nu1,,\n", "line 2: fill in"),
        ("who,due\nu1,\n", "no column is called “id”"),
        ("id,extra\n,2 days\n", "line 2: id"),
    ],
)
def test_a_mistake_in_the_extensions_names_its_line(tmp_path: Path, text: str, words: str) -> None:
    """Nothing is guessed: file, line, and what to write."""
    with pytest.raises(UsageError, match=words):
        read_extensions(write(tmp_path / "e.csv", text))


def test_adjustments_are_read_with_their_reasons(tmp_path: Path) -> None:
    """Comma or point, minus in any spelling, several for one person."""
    path = write(tmp_path / "a.csv", 'id\tpoints\treason\nu1\t2,5\tShown, in class\nu1\t−1\t"Copied ""x"""\n')
    assert read_adjustments(path) == {"u1": [Manual(2.5, "Shown, in class"), Manual(-1.0, 'Copied "x"')]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,points,reason\nu1,nan,x\n", "line 2: points"),
        ("id,points,reason\nu1,1,\n", "line 2: reason"),
        ("id,points\nu1,1\n", "no column is called “reason”"),
    ],
)
def test_a_mistake_in_the_adjustments_names_its_line(tmp_path: Path, text: str, words: str) -> None:
    """A decision without a number or a reason is refused."""
    with pytest.raises(UsageError, match=words):
        read_adjustments(write(tmp_path / "a.csv", text))


def test_ids_that_nobody_has_are_listed() -> None:
    """A typing mistake in a file of decisions is told, never guessed at."""
    rules = Policy(manual={"u1": [Manual(1.0, "x")], "u9": [Manual(1.0, "x")]})
    assert notes(rules, [Entry("ada", (Person(id="u1"),), ())]) == [
        "Nobody here has the id u9, which the adjustments name."
    ]


def test_points_for_one_member_of_a_group_are_refused() -> None:
    """A group has one report: points for one would reach all of them."""
    group = Entry("team", (Person(id="u1"), Person(id="u2")), ())
    with pytest.raises(UsageError, match="team"):
        notes(Policy(manual={"u1": [Manual(1.0, "x")]}), [group])
    assert notes(Policy(manual={"team": [Manual(1.0, "x")]}), [group]) == []


def test_an_extension_before_the_due_date_is_refused(tmp_path: Path) -> None:
    """An extension that takes time away is a typing mistake."""
    assignment = course.make(tmp_path, settings=course.SETTINGS + f'\n[late]\ndue = "{DUE}"\n')
    path = write(tmp_path / "e.csv", "id,due\nu1,2026-02-04T23:59:00+01:00\n")
    with pytest.raises(UsageError, match="u1"):
        policy(assignment, path)


@pytest.mark.parametrize(("limit", "graded"), [(0, 3), (2, 2), (1, 1), (5, 3)])
def test_of_several_attempts_the_last_that_counts_is_graded(tmp_path: Path, limit: int, graded: int) -> None:
    """Without a limit the latest; else the last within it. The others are explained, none is dropped in silence."""
    settings = course.make(tmp_path / "course", settings=course.SETTINGS + f"\n[late]\nattempts = {limit}\n").settings
    work = tmp_path / "work"
    work.mkdir()
    for number in (1, 2, 3):
        write(work / f"HW2_jdoe_attempt_2026-03-0{number}-10-00-00_double.py", f"# {number}\n{course.RIGHT}")
    taken = intake.scan([work], settings, source="blackboard")
    [entry] = taken.entries
    submission = taken.read(entry)
    assert submission.files[0].data.startswith(f"# {graded}\n".encode())
    assert (submission.attempt, submission.attempts) == (graded, 3)
    assert len(taken.explained) == 2
