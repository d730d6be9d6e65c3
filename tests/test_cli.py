"""The command line: real work for right use, one clear message for wrong use, never a traceback."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.results import encode
from grader.run_directory import RunDirectory, write
from tests import course, reports
from tests.commands import fresh, here
from tests.disks import failing_disk


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A course of three, graded once."""
    root = tmp_path_factory.mktemp("course")
    course.make(root, settings=course.SETTINGS.replace("= 6", "= 1").replace("call_seconds = 1", "call_seconds = 0.5"))
    work = {
        "ada": course.RIGHT,
        "bob": "def double(x):\n    return x * 3\n",
        "çelik": "import time\ndef double(x):\n    while True: time.sleep(0.01)\n",
    }
    for name, code in work.items():
        (root / "work" / name).mkdir(parents=True)
        (root / "work" / name / "double.py").write_text(code)
    return root, fresh("--root", root, "grade", "double", root / "work", "--out", root / "run")


def test_a_class_is_graded(graded: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Everybody has a result, two pages and a line in grades.csv; the exit status says that the work was done."""
    root, done = graded
    assert done.returncode == 0, done.stderr
    with (root / "run" / "grades.csv").open(encoding="utf-8") as file:
        scores = {line["submission"]: line["score"] for line in csv.DictReader(file)}
    assert scores["ada"] == "10"
    assert scores["bob"] == "6"
    assert set(scores.values()) == {"10", "6", "0"}
    for name in scores:
        assert json.loads((root / "run" / "results" / f"{name}.json").read_text())["max_score"] == 10
        assert (root / "run" / "feedback" / f"{name}.html").stat().st_size > 1000
        assert (root / "run" / "feedback" / f"{name}.md").is_file()
    assert "<html" in (root / "run" / "index.html").read_text()
    assert json.loads((root / "run" / "run.json").read_text())["assignment"] == "double"


def test_the_table_names_students_scores_and_reasons(graded: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """The terminal shows who got what and why, and where the reports are."""
    _, done = graded
    assert "6/10" in done.stdout
    assert "values" in done.stdout
    assert "should be" in done.stdout
    assert "feedback" in done.stdout


def test_the_same_command_again_keeps_what_is_done(
    graded: tuple[Path, subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is graded twice: the second run keeps all three results, byte for byte."""
    root, _ = graded
    before = {path.name: path.read_bytes() for path in (root / "run" / "results").iterdir()}
    assert here(monkeypatch, root, "grade", "double", "work", "--out", "run") == 0
    assert "3 kept from before" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in (root / "run" / "results").iterdir()} == before


def test_one_check_can_be_replayed(
    graded: tuple[Path, subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Staff see one check again: the verdict, then the inputs by their names, the answer and what was expected."""
    root, _ = graded
    assert here(monkeypatch, root, "replay", "run", "bob", "values", "work") == 0
    shown = capsys.readouterr().out
    assert "(values): failed, as in the run" in shown
    assert "should be" in shown
    parts = [shown.index(words) for words in ("should be", "x (3, 4) torch.float32:", "returned y", "expected y")]
    assert parts == sorted(parts)


def test_a_replay_shows_the_call_that_failed_unless_all_are_asked_for(
    graded: tuple[Path, subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One call of three; with --all every one."""
    root, _ = graded
    for more, calls in (((), 1), (("--all",), 3)):
        assert here(monkeypatch, root, "replay", "run", "bob", "sizes", "work", *more) == 0
        assert capsys.readouterr().out.count(" of 3 ") == calls


def test_feedback_is_written_again_without_student_code(
    graded: tuple[Path, subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages come back from the stored results; staff's go into a folder of their own."""
    root, _ = graded
    (root / "run" / "feedback" / "ada.html").unlink()
    assert here(monkeypatch, root, "feedback", "run") == 0
    assert (root / "run" / "feedback" / "ada.html").is_file()
    assert here(monkeypatch, root, "feedback", "run", "--for", "staff") == 0
    assert (root / "run" / "staff" / "ada.html").is_file()


def test_a_broken_check_is_told_and_is_exit_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fault of the grader's is not hidden: the student keeps the points' denominator, staff get status 1."""
    course.make(tmp_path, hidden=course.HIDDEN.replace("student(torch.randn(5))", "1 / 0"))
    (tmp_path / "ada.py").write_text(course.RIGHT)
    assert here(monkeypatch, tmp_path, "grade", "double", "ada.py", "--out", "run") == 1
    told = capsys.readouterr().err
    assert "a check broke" in told
    assert "Traceback" not in told


def test_help_starts_without_torch() -> None:
    """`grader --help` and each verb's help answer without importing torch."""
    code = """
import sys
from grader.cli import cli
try:
    cli(["grade", "--help"])
finally:
    assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Usage" in done.stdout
    assert "AssertionError" not in done.stderr


WRONG = {
    "no such assignment": (("grade", "nothing", "x"), "no assignment 'nothing'"),
    "a path that is not there": (("grade", "double", "missing"), "does not exist"),
    "an empty folder": (("grade", "double", "empty"), "empty"),
    "a folder that is no run": (("feedback", "empty"), "no run.json in it. Give the folder that `grader grade` wrote"),
    "a due date that is none": (("check", "late", "x.py"), "late.due: 'tomorrow' is not a time"),
    "no path, but an unset variable": (("grade", "double", ""), "it is empty. Write a dot for the current folder"),
    "no folder for the results": (("grade", "double", "work", "--out", ""), "it is empty. Write a dot"),
    "the course for its submissions": (("grade", "double", "."), "the assignment's own solution lies in it"),
    "results among submissions": (("grade", "double", "work", "--out", "work/run"), "the results are written into it"),
    "points beyond measure": (("grade", "double", "work", "--adjust", "points.csv"), "more than any assignment has"),
    "a file for a folder that is not there": (("junit", "run", "-o", "no/x.xml"), "there is no folder no. Make it"),
    "templates that are not there": (("feedback", "run", "--templates", "no"), "--templates: no is not a folder"),
    "a file to take along that is not there": (("gradescope", "build", "double", "--include", "no"), "is not a file"),
    "Gradescope's command at home": (("gradescope", "run", "double", "--tree", "no"), "not there. This command is"),
    "PrairieLearn's command at home": (("prairielearn", "run", "double", "--tree", "no"), "is not there. This command"),
    "GitHub's command without a repository": (("github-classroom", "run", "double", "no"), "no is not a folder. Give"),
    "an unknown format": (("grade", "double", "work", "--from", "floppy"), "floppy"),
    "no marker at all": (("grade", "double", "work", "--jobs", "0"), "0 is not in the range 1<=x<=256"),
    "more markers than any machine has": (("audit", "double", "--jobs", "10000000"), "not in the range 1<=x<=256"),
    "a file that is not there": (("check", "double", "missing.py"), "not a file"),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
def test_wrong_use_is_one_message_and_status_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    """What, where, how to mend it; never a traceback."""
    course.make(tmp_path)
    (tmp_path / "assignments" / "late").mkdir()
    settings = f'{course.SETTINGS}[late]\ndue = "tomorrow"\n'
    (tmp_path / "assignments" / "late" / "assignment.toml").write_text(settings)
    (tmp_path / "empty").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "ada.py").write_text(course.RIGHT)
    (tmp_path / "points.csv").write_text("id,points,reason\nada,1e20,kindness\n")
    RunDirectory(tmp_path / "run").create()
    write(tmp_path / "run" / "run.json", encode(reports.run_info(0)))
    assert here(monkeypatch, tmp_path, *arguments) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told
    assert len(told.strip().splitlines()) <= 4


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "Twice a tensor"', "title = 3", "title: expected text in quotation marks; got 3."),
        ("call_seconds = 1", "call_secs = 1", "call_secs"),
        ("[entry]", "[entry", "not valid TOML"),
        ('function = "double"', "", "function"),
    ],
)
def test_a_wrong_setting_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    """A mistake in assignment.toml is told with the file, the key and what was expected."""
    course.make(tmp_path)
    path = tmp_path / "assignments" / "double" / "assignment.toml"
    path.write_text(path.read_text().replace(old, new))
    assert here(monkeypatch, tmp_path, "check", "double", "x.py") == 2
    told = capsys.readouterr().err
    assert str(path) in told
    assert words in told


def test_public_checks_never_pass_for_the_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`grader check` shows what is not right, and says that these are the public checks."""
    course.make(tmp_path)
    (tmp_path / "mine.py").write_text("def double(x):\n    return x * 3\n")
    assert here(monkeypatch, tmp_path, "check", "double", "mine.py") == 0
    shown = capsys.readouterr().out
    assert "public checks" in shown
    assert "not yet" in shown
    assert "should be" in shown
    assert here(monkeypatch, tmp_path, "check", "double", "mine.py", "--strict") == 1


def test_public_checks_tell_the_same_error_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One mistake that stops every check is shown with its line once; a long line stays below its title."""
    course.make(tmp_path)
    public = tmp_path / "assignments" / "double" / "test_double.py"
    text = public.read_text()
    public.write_text(text + text[text.index("@points") :].replace("def test_", "def test_again_"))
    (tmp_path / "mine.py").write_text("def double(x):\n    return x * unknown\n")
    monkeypatch.setenv("COLUMNS", "60")
    assert here(monkeypatch, tmp_path, "check", "double", "mine.py") == 0
    shown = capsys.readouterr().out
    assert shown.count("NameError: name 'unknown' is not defined") == 1
    assert "The same error as above." in shown
    below = shown[shown.index("not yet") :].splitlines()[1:]
    assert all(
        line.startswith((" " * 11, "  not yet")) for line in below[: below.index("           The same error as above.")]
    )


def test_a_folder_whose_name_is_no_text_holds_a_run_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some systems give names in an alphabet of their own: the run is stored, and can be read."""
    course.make(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "ada.py").write_text(course.RIGHT)
    out = tmp_path / os.fsdecode(b"caf\xe9")
    assert here(monkeypatch, tmp_path, "grade", "double", "work", "--out", out) == 0
    assert RunDirectory(out).info().id == "caf\ufffd"


def test_results_of_an_earlier_class_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They stay, and would be exported: whoever grades another class into the folder hears of it."""
    course.make(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "ada.py").write_text(course.RIGHT)
    run = RunDirectory(tmp_path / "run")
    run.create()
    write(run.result("zoe"), encode(reports.right()))
    assert here(monkeypatch, tmp_path, "grade", "double", "work", "--out", "run") == 0
    assert "from an earlier run: zoe. grades.csv does not have them" in capsys.readouterr().out
    assert run.submissions() == ["ada", "zoe"]


def test_a_damaged_result_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`grader replay` names the file that it can't read."""
    course.make(tmp_path)
    (tmp_path / "work").mkdir()
    run = RunDirectory(tmp_path / "run")
    run.create()
    write(run.result("ada"), "{")
    write(tmp_path / "run" / "run.json", encode(reports.run_info(1)))
    assert here(monkeypatch, tmp_path, "replay", "run", "ada", "values", "work") == 2
    assert "ada.json can't be used: it is damaged" in capsys.readouterr().err


def test_a_failing_disk_costs_nobody_a_mark_and_is_exit_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The student whose file can't be read gets no result; the others are graded, and the file is named."""
    course.make(tmp_path)
    for name in ("ada", "bob"):
        (tmp_path / "work" / name).mkdir(parents=True)
        (tmp_path / "work" / name / "double.py").write_text(course.RIGHT)
    file = tmp_path / "work" / "ada" / "double.py"
    with failing_disk(file):
        assert here(monkeypatch, tmp_path, "grade", "double", "work", "--out", "run") == 2
    told = capsys.readouterr()
    assert f"{file} can't be read (Input/output error)" in told.err
    assert "1 submission graded" in told.out
    assert [path.name for path in (tmp_path / "run" / "results").glob("*.json")] == ["bob.json"]
