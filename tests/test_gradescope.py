"""What Gradescope is given: results in the student's words, a zip without anything that should stay at home."""

from __future__ import annotations

import json
import math
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from grader import cli_services
from grader.assignment import Assignment
from grader.errors import UsageError
from grader.places.gradescope import attempts, build, metadata
from grader.places.gradescope.results import LIMIT, Writer
from grader.places.gradescope.run import settle
from grader.places.gradescope.staff_log import log
from grader.places.gradescope.tree import Tree, budget, excuse, fault
from grader.places.gradescope.validate import validate
from grader.results import Report
from tests import course, reports
from tests.gradescope_service import accepted, previous, submitted, user

LATE = course.SETTINGS + "\n[late]\ndeduction = 0.1\nattempts = 2\n"


def results(report: Report, **options: Any) -> dict[str, Any]:
    """The results of a report, once the service would accept them."""
    made = Writer().results(report, seconds=1.5, **options)
    return accepted(json.dumps(made, allow_nan=False))


def known(tmp_path: Path, data: Any) -> metadata.Metadata:
    path = tmp_path / "submission_metadata.json"
    path.write_text(json.dumps(data))
    return metadata.read(path)


# --- results ---


@pytest.mark.parametrize("make", [reports.right, reports.wrong, reports.crashed, reports.unread, reports.fault])
def test_every_kind_of_report_is_accepted_and_adds_up(make: Any) -> None:
    """Whatever became of the work, the results are valid, with all checks and the report's own score."""
    report = make()
    made = results(report)
    assert made["score"] == max(0, report.score)
    assert [test["max_score"] for test in made["tests"]] == [check.max_score for check in report.checks]
    assert all(test["status"] == ("passed" if test["score"] else "failed") for test in made["tests"])


def test_the_student_reads_the_words_of_the_report() -> None:
    """The cause, the hint, the line of code and the numbers around the worst element are all there."""
    made = results(reports.wrong())
    assert "The mask is never applied" in made["output"]
    assert "6 hours late" in made["output"]
    causal = next(test for test in made["tests"] if test["extra_data"]["id"] == "causal_zero")
    for words in ("It must be exactly 0", "<em>Hint:</em>", "We tried:", "<p>Yours:</p>\n<pre>", "[0.76]"):
        assert words in causal["output"]
    assert "▶ 11      scores = Q @ K.T / math.sqrt(d_k)" in results(reports.crashed())["tests"][0]["output"]


def test_twins_share_a_number_and_tags_say_the_device() -> None:
    """The same check on CPU and GPU stands side by side as 1.1 and 1.2, and staff can filter by tag."""
    tests = results(reports.wrong())["tests"]
    assert [test["number"] for test in tests[:3]] == ["1.1", "1.2", "2.1"]
    assert tests[8]["number"] == "5"
    assert (tests[0]["tags"], tests[1]["tags"]) == (["cpu"], ["gpu", "emulated"])
    assert tests[1]["name"].endswith("(on an emulated GPU)")


def test_what_is_hidden_is_not_told_at_the_top() -> None:
    """A hidden check keeps its words to itself: the text at the top neither names it nor gives its points away."""
    hidden = reports.check(6, passed=False, visibility="hidden", message="The secret weakness.")
    made = results(reports.report([reports.check(0), hidden, reports.check(8, visibility="after_published")]))
    assert [test["visibility"] for test in made["tests"]] == ["visible", "hidden", "after_published"]
    assert "weakness" not in made["output"]
    assert "PyTorch's own attention" not in made["output"]
    assert "The secret weakness." in made["tests"][1]["output"]


def test_no_text_of_a_student_becomes_markup() -> None:
    """Names, messages and code with tags, NUL or terminal sequences stay plain text."""
    made = results(reports.hostile())  # which looks at every tag
    assert "&lt;script&gt;" in made["output"]
    assert made["test_name_format"] == "text"
    assert not {"\0", "\x1b", "\u202e"} & set(json.dumps(made, ensure_ascii=False))


def test_no_output_reaches_the_limit() -> None:
    """A report far beyond any honest size is cut between two paragraphs, long before Gradescope would cut it."""
    long = "\n\n".join(["<&>" * 1300] * 3)
    diagnoses = [msgspec.structs.replace(reports.MASK_LOST, explanation=long, hint=long) for _ in range(40)]
    made = results(msgspec.structs.replace(reports.wrong(), diagnoses=diagnoses))
    assert LIMIT / 2 < len(made["output"]) <= LIMIT


def test_extra_data_holds_what_staff_count_and_no_person() -> None:
    """Diagnoses, flags, sandbox level and the seed's id are kept; names and addresses are Gradescope's to keep."""
    extra = results(reports.wrong(), extra={"attempt": 3})["extra_data"]
    assert extra["diagnoses"][0]["misconceptions"] == ["mask_result_dropped"]
    assert extra["flags"][0]["id"] == "slow"
    assert extra["sandbox"]["level"] == "A"
    assert (extra["seed_id"], extra["attempt"]) == ("7f3a9c12", 3)
    assert "example.org" not in json.dumps(extra)


def test_a_change_since_the_last_submission_is_named() -> None:
    """A student sees at once what has become right and what has become wrong."""
    before = results(reports.wrong())
    made = results(reports.right(), previous=previous(1, before)["results"])
    assert "Now right: “With a causal mask, no query looks at a later key”, “With" in made["output"]
    made = results(reports.wrong(), previous=previous(1, results(reports.right()))["results"])
    assert "No longer right" in made["output"]
    assert "and 2 more" in made["output"]
    assert "The same checks passed" in results(reports.wrong(), previous=before)["output"]


@pytest.mark.parametrize("strange", [{}, {"tests": None}, {"tests": [3, {"extra_data": 4}, {"name": "x"}]}])
def test_strange_earlier_results_are_passed_over(strange: dict[str, Any]) -> None:
    """Results that another autograder left behind are not compared, and break nothing."""
    assert "Since your last submission" not in results(reports.wrong(), previous=strange)["output"]


def test_a_hidden_check_is_not_compared() -> None:
    """That a hidden check has become right is not said."""
    before = results(reports.report([reports.check(0), reports.check(6, passed=False, visibility="hidden")]))
    made = results(reports.report([reports.check(0), reports.check(6, visibility="hidden")]), previous=before)
    assert "The same checks passed as before." in made["output"]


def test_a_number_that_json_does_not_know_is_never_written(tmp_path: Path) -> None:
    """NaN in the results is refused before the file is touched."""
    tree = Tree(tmp_path)
    tree.write(excuse("First."))
    with pytest.raises(ValueError, match="JSON"):
        tree.write({"score": math.nan})
    assert accepted(tree.results.read_bytes())["output"] == "First."


def test_the_log_frames_what_a_student_printed() -> None:
    """Staff read flags and details; no line of a student's can pass for one of ours."""
    text = log(reports.wrong(), metadata.Metadata(total_points=40.0))
    assert "│ loading..." in text
    assert "worth 40 points on Gradescope" in text
    forged = msgspec.structs.replace(reports.wrong(), output="x\n100 of 100 points\r2\x1b[1A")
    assert "\n100 of 100 points" not in log(forged, metadata.Metadata())


# --- metadata, lateness, attempts ---


def test_a_group_has_the_latest_of_its_due_dates(tmp_path: Path) -> None:
    """An extension for one member holds for the work of the group, and all members are named."""
    early, late = "2026-02-03T23:59:00.000000-08:00", "2026-02-05T00:00:00.000000+01:00"
    seen = known(tmp_path, submitted(users=[user("ada", early), user("bo", late), user("cy", early)]))
    assert seen.due == late
    assert [person.id for person in seen.people] == ["u-ada", "u-bo", "u-cy"]


def test_without_own_due_dates_the_assignment_s_counts(tmp_path: Path) -> None:
    """Older metadata has no due date per person."""
    person = {"id": 3, "email": "ada@uni.example", "name": "Ada"}
    seen = known(tmp_path, submitted(users=[person]))
    assert seen.due == "2026-02-03T23:59:00.000000-08:00"
    assert seen.people[0].id == "ada@uni.example"


def test_earlier_submissions_are_sorted_and_later_ones_left_out(tmp_path: Path) -> None:
    """When an old submission is graded again, what came after it does not count against it."""
    later = previous(9, None, submission_time="2026-02-03T01:00:00.000000-08:00")
    seen = known(tmp_path, submitted(previous_submissions=[later, previous(3, None), previous(1, None)]))
    assert [one.submitted_at[8:13] for one in seen.previous] == ["01T01", "01T03"]


def test_a_fault_of_ours_uses_up_no_attempt(tmp_path: Path) -> None:
    """Neither what Gradescope calls an error nor what we called one is counted."""
    listed = [previous(1, None, autograder_error=True), previous(2, fault("Sorry.")), previous(3, excuse("Fine."))]
    assert attempts.number(known(tmp_path, submitted(previous_submissions=listed))) == 2


@pytest.mark.parametrize("data", [[], "x", {}, {"users": 3, "previous_submissions": {"a": 1}, "assignment": []}])
def test_metadata_of_another_form_is_survived(tmp_path: Path, data: Any) -> None:
    """Nothing in the file has to be there: then there is no lateness and this is the first attempt."""
    seen = known(tmp_path, data)
    assert (seen.people, seen.due, attempts.number(seen)) == ((), "", 1)


@pytest.mark.parametrize(("score", "value"), [("31.0", 31.0), (31, 31.0), (None, None), ("NaN", None), ("x", None)])
def test_scores_are_read_as_number_or_text(tmp_path: Path, score: Any, value: float | None) -> None:
    """The service writes scores both ways."""
    seen = known(tmp_path, submitted(previous_submissions=[previous(1, None, score=score)]))
    assert seen.previous[0].score == value


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    return course.make(tmp_path / "course", settings=LATE)


def handed_in(report: Report, seen: metadata.Metadata) -> Report:
    """The report of work that was handed in when the metadata say."""
    return msgspec.structs.replace(
        report, submission=msgspec.structs.replace(report.submission, submitted_at=seen.submitted_at)
    )


def test_lateness_is_taken_off_the_score_and_explained(tmp_path: Path, assignment: Assignment) -> None:
    """Two days late at a tenth a day: the checks keep their points, the total is lower, the reason is told."""
    seen = known(tmp_path, submitted(created_at="2026-02-05T01:30:00.250000-08:00"))
    report = handed_in(reports.right(), seen)
    settled = settle(report, assignment, seen)
    assert settled.score == pytest.approx(report.score - 0.2 * report.max_score)
    made = results(settled)
    assert made["score"] == settled.score
    assert sum(test["score"] for test in made["tests"]) == report.score
    assert "after the due date" in made["output"]


def test_an_extension_saves_from_lateness(tmp_path: Path, assignment: Assignment) -> None:
    """Handed in after everybody's due date, but before one's own."""
    seen = known(
        tmp_path,
        submitted(
            created_at="2026-02-05T01:30:00.250000-08:00", users=[user("ada", "2026-02-06T23:59:00.000000-08:00")]
        ),
    )
    assert settle(handed_in(reports.right(), seen), assignment, seen).adjustments == []


def test_over_the_limit_the_last_result_that_counts_stands(tmp_path: Path) -> None:
    """The third and fourth attempt of two give back the second's result, with one note and without piling up."""
    second = results(reports.wrong())
    listed = [previous(1, None), previous(2, second)]
    third = attempts.standing(2, known(tmp_path, submitted(previous_submissions=listed)))
    assert third is not None
    accepted(json.dumps(third))
    assert third["score"] == second["score"]
    assert third["tests"] == second["tests"]
    assert third["output"].startswith("<p><strong>You handed in 3 times; the first 2 count.")
    listed = [previous(1, None), previous(2, None), previous(3, third)]
    fourth = attempts.standing(2, known(tmp_path, submitted(previous_submissions=listed)))
    assert fourth is not None
    assert fourth["output"].count("You handed in") == 1
    assert fourth["output"].endswith(second["output"])


def test_over_the_limit_a_bare_score_stands_too(tmp_path: Path) -> None:
    """When the service gives back only the score of the attempt that counts, that is kept."""
    listed = [previous(1, None, score="7.0")]
    standing = attempts.standing(1, known(tmp_path, submitted(previous_submissions=listed)))
    assert standing is not None
    assert (standing["score"], standing["stdout_visibility"]) == (7.0, "hidden")


def test_over_the_limit_with_nothing_known_the_work_is_graded(tmp_path: Path, assignment: Assignment) -> None:
    """Then a note leaves it to the teachers."""
    seen = known(tmp_path, submitted(previous_submissions=[previous(1, None), previous(2, None)]))
    assert attempts.standing(2, seen) is None
    third = msgspec.structs.replace(reports.right().submission, attempt=3, attempts=3)
    settled = settle(msgspec.structs.replace(reports.right(), submission=third), assignment, seen)
    assert "your teachers decide" in settled.adjustments[-1].reason


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [("600", 535), (None, 535), ("x", 535), ("20", 13), ("1", 1), ("-4", 535)],
)
def test_a_run_gives_up_before_the_service_does(timeout: str | None, seconds: float) -> None:
    """A tenth and five seconds are kept for writing the results."""
    assert budget(timeout) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (None, "no results.json"),
        (b"", "not valid JSON"),
        (b'{"score": NaN}', "NaN"),
        (b"[]", "object"),
        (b"{}", "neither"),
        (b'{"score": -1}', "negative"),
        (b'{"score": "7"}', "score"),
        (b'{"tests": [{"status": "passed", "visibility": "never"}]}', "never"),
        (b'{"score": 1, "output": "%s"}' % (b"x" * 100_001), "cut out"),
        (b'{"score": 1, "output": "\\u0000"}', "NUL"),
        ('{"score": 1, "output": "ü"}'.encode("latin-1"), "not valid JSON"),
    ],
)
def test_the_rehearsal_finds_what_the_service_would_refuse(raw: bytes | None, words: str) -> None:
    """Each known way to break a results file is reported."""
    problems, _ = validate(raw)
    assert words in " ".join(problems)


# --- the zip ---


def built(assignment: Assignment, tmp_path: Path, **options: Any) -> Path:
    target = tmp_path / "out.zip"
    build.build(assignment.public.parent.parent, "double", output=target, **options)
    return target


def test_the_zip_is_the_same_each_time(tmp_path: Path, assignment: Assignment) -> None:
    """Same inputs, same bytes: whether anything changed can be told from the checksum."""
    first = built(assignment, tmp_path).read_bytes()
    for path in assignment.staff.iterdir():
        path.touch()
    assert built(assignment, tmp_path).read_bytes() == first


def test_the_zip_holds_what_a_run_needs_and_nothing_else(
    tmp_path: Path, assignment: Assignment, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scripts with Unix lines and the run bit, both halves, the grader; no sample class, no cache, no secret."""
    (assignment.staff / "sample_class" / "ada").mkdir(parents=True)
    (assignment.staff / "sample_class" / "ada" / "double.py").write_text("work of a student")
    (assignment.staff / "sample_class.toml").write_text("")
    (assignment.staff / "__pycache__").mkdir()
    with zipfile.ZipFile(built(assignment, tmp_path)) as archive:
        names = archive.namelist()
        assert names == sorted(names)
        assert {name.partition("/")[0] for name in names} == {
            "course", "grader", "templates", "setup.sh", "run_autograder", "requirements.txt",
        }  # fmt: skip
        assert sorted(name for name in names if name.startswith("course/")) == [
            "course/.course-secret",
            "course/assignments/double/assignment.toml",
            "course/assignments/double/test_double.py",
            "course/solutions/double/double.py",
            "course/solutions/double/test_hidden.py",
        ]
        for script in ("setup.sh", "run_autograder"):
            info = archive.getinfo(script)
            assert info.external_attr >> 16 & 0o111
            assert b"\r" not in archive.read(script)
        own = (assignment.public.parent.parent / ".course-secret").read_bytes().strip()
        assert own not in b"".join(archive.read(name) for name in names)
        assert not any("__pycache__" in name or name.endswith(".pyc") or "/new/" in name for name in names)
    said = capsys.readouterr().out
    assert "Autograder points: 10" in said
    assert "0.5 CPU, 0.75 GB RAM" in said
    assert "Time limit: 10 minutes" in said


def test_only_a_named_secret_goes_along(tmp_path: Path, assignment: Assignment) -> None:
    """With --secret the inputs on Gradescope are those at home."""
    own = tmp_path / "mine"
    own.write_text("a secret of 32 characters or more\n")
    with zipfile.ZipFile(built(assignment, tmp_path, secret_file=own)) as archive:
        assert archive.read("course/.course-secret") == own.read_bytes()
    own.write_text("short")
    with pytest.raises(UsageError, match="16 characters"):
        built(assignment, tmp_path, secret_file=own)


@pytest.mark.parametrize("half", ["public", "staff"])
@pytest.mark.parametrize("stray", ["ada_byron.py", "double_final.ipynb", "submissions.zip", "run.json", "results/"])
def test_a_stray_file_is_refused_by_name(tmp_path: Path, assignment: Assignment, half: str, stray: str) -> None:
    """Somebody's work or an old run in a half of the assignment stops the build, and the message says which."""
    path = getattr(assignment, half) / stray
    path.mkdir() if stray.endswith("/") else path.write_text("x = 1\n")
    with pytest.raises(UsageError, match=stray.rstrip("/")):
        built(assignment, tmp_path)


def test_what_belongs_may_come_along(tmp_path: Path, assignment: Assignment) -> None:
    """A module that the checks import is known by that; another file is known when it is named."""
    (assignment.staff / "course_tools.py").write_text("import deeper\n")
    (assignment.staff / "deeper.py").write_text("")
    (assignment.staff / "bounds.py").write_text("import course_tools\n\n\ndef bounds(x):\n    return x\n")
    extra = assignment.staff / "extra.bin"
    extra.write_bytes(b"1")
    with zipfile.ZipFile(built(assignment, tmp_path, include=(extra,))) as archive:
        names = set(archive.namelist())
    assert {f"course/solutions/double/{name}" for name in ("course_tools.py", "deeper.py", "extra.bin")} <= names


def test_a_link_is_not_followed(tmp_path: Path, assignment: Assignment) -> None:
    """A link in a half could lead to anything on the machine."""
    (assignment.public / "picture.png").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="link"):
        built(assignment, tmp_path)


FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >> "$LOG"
case "$(basename "$0") $*" in
  "$FAIL"*) exit 7 ;;
  "python3 -m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *sysconfig*) echo "$SITE" ;;
  "runuser "*"test -x"*) exit 1 ;;
  "id "*) exit 1 ;;
esac
"""


def set_up(tmp_path: Path, text: str, fail: str = "-") -> tuple[int, list[str]]:
    """Run setup.sh with every command that it calls replaced by one that writes down how it was called."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("apt-get", "python3", "useradd", "chown", "runuser", "id"):
        (commands / name).write_text(FAKE)
        (commands / name).chmod(0o755)
    source = tmp_path / "autograder" / "source"
    for folder in ("course", "grader", "templates"):
        (source / folder).mkdir(parents=True)
        (source / folder / "file").write_text("")
    text = text.replace("/autograder/", f"{tmp_path}/autograder/").replace("/opt/grader", f"{tmp_path}/venv")
    (source / "setup.sh").write_text(text)
    log = tmp_path / "log"
    log.write_text("")
    environment = {
        "PATH": f"{commands}:/usr/bin:/bin",
        "LOG": str(log),
        "FAIL": fail,
        "SITE": str(tmp_path),
    }
    done = subprocess.run(
        ["bash", str(source / "setup.sh")], env=environment, capture_output=True, text=True, check=False, cwd="/"
    )
    print(done.stdout, done.stderr)
    return done.returncode, log.read_text().splitlines()


def test_setup_uses_an_environment_of_its_own(tmp_path: Path, assignment: Assignment) -> None:
    """PyTorch comes first and alone from the index that was named; the image's own Python is left as it is."""
    files = build.contents(assignment.public.parent.parent, assignment, torch_index="https://wheels.example/cpu")
    status, calls = set_up(tmp_path, files["setup.sh"].decode())
    assert status == 0
    pips = [call for call in calls if " pip " in call]
    assert all(call.startswith("python ") for call in pips), "never python3"
    assert pips[0].endswith("install torch==2.13.0 --index-url https://wheels.example/cpu")
    assert pips[1].endswith("requirements.txt")
    assert any(call.startswith("useradd") and call.endswith("student") for call in calls)
    source = tmp_path / "autograder" / "source"
    assert (source / "course").stat().st_mode & 0o777 == 0o700
    assert (source / "grader" / "file").stat().st_mode & 0o044 == 0o044
    assert (tmp_path / "grader.pth").read_text().strip() == str(source)


@pytest.mark.parametrize("fail", ["apt-get install", "python3 -m venv", "python -m pip", "useradd", "chown"])
def test_setup_fails_loudly(tmp_path: Path, assignment: Assignment, fail: str) -> None:
    """Whichever step fails, the image's build fails with it."""
    files = build.contents(assignment.public.parent.parent, assignment)
    status, _ = set_up(tmp_path, files["setup.sh"].decode(), fail)
    assert status == 7


def test_the_page_for_courses_names_every_verb_and_option() -> None:
    """docs/running-a-course.md leaves out nothing that these commands can do."""
    page = (Path(__file__).parent.parent / "docs" / "running-a-course.md").read_text(encoding="utf-8")
    for command in cli_services.COMMANDS:
        inner = command.commands.values() if isinstance(command, click.Group) else [command]
        for one in inner:
            name = one.name if one is command else f"{command.name} {one.name}"
            assert f"grader {name}" in page, name
            for option in (parameter for parameter in one.params if isinstance(parameter, click.Option)):
                assert option.opts[0] in page, (name, option.opts[0])
