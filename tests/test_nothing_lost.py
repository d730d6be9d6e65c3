"""Whatever is killed, full or forbidden: finished results stay, and the same command ends as if nothing had been."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from bench.disturb import everything, kill_one
from grader import assignment as assignments
from grader import batch
from grader.assignment import Late
from grader.errors import GraderError, UsageError
from grader.ground import Ground, ground
from grader.places.processes import descendants
from grader.results import total
from grader.rules.decisions import Manual
from grader.rules.policy import Policy
from grader.run_directory import RunDirectory, write
from grader.sandbox import leftovers
from tests import class_runs, course
from tests.class_runs import grade, handed_in
from tests.disks import full_disk

COUNT = 3
MANY = 80
"""Enough that a run can be stopped twice on its way."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("course")
    course.make(place)
    return place


@pytest.fixture(scope="module")
def base(root: Path) -> Iterator[Ground]:
    with ground(assignments.load("double", root), "auto") as made:
        yield made


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handed_in(tmp_path_factory.mktemp("work"), COUNT)


@pytest.fixture(scope="module")
def undisturbed(root: Path, base: Ground, work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    assert grade(root, work, out, base).faults == []
    return out


def test_grading_twice_gives_the_same_bytes_but_for_times(
    root: Path, base: Ground, work: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """Results, pages and grade sheet are equal, with one marker or with several."""
    grade(root, work, tmp_path, base, jobs=1)
    assert everything(tmp_path) == everything(undisturbed)


def test_the_same_command_again_grades_only_what_is_missing_or_changed(
    root: Path, base: Ground, tmp_path: Path
) -> None:
    """A result that was lost and work that was changed are graded; the others' files are not even touched."""
    work, out = handed_in(tmp_path / "work", 3), tmp_path / "out"
    grade(root, work, out, base, jobs=1)
    kept = RunDirectory(out).result("s0002")
    before = kept.stat().st_mtime_ns
    RunDirectory(out).result("s0000").unlink()
    (work / "s0001" / "double.py").write_text(course.RIGHT)
    outcome = grade(root, work, out, base, jobs=1)
    assert (outcome.kept, len(outcome.grades)) == (1, 3)
    assert kept.stat().st_mtime_ns == before
    assert RunDirectory(out).load("s0001").score == 10  # type: ignore[union-attr]


def test_fresh_and_a_changed_assignment_grade_all_again(root: Path, base: Ground, tmp_path: Path) -> None:
    """With --fresh, or with another hidden check, nothing old is kept."""
    work, out = handed_in(tmp_path / "work", 1), tmp_path / "out"
    assert [grade(root, work, out, base, jobs=1).kept for _ in range(2)] == [0, 1]
    assert grade(root, work, out, base, jobs=1, fresh=True).kept == 0
    changed = course.make(tmp_path / "course", hidden=course.HIDDEN.replace("@points(4)", "@points(5)"))
    assert grade(root, work, out, base, jobs=1, assignment=changed).kept == 0


def test_a_changed_policy_is_put_on_without_running_student_code(
    root: Path, base: Ground, work: Path, tmp_path: Path
) -> None:
    """All are kept from before; only adjustments and score are new, on pages and sheet too; and back again."""
    grade(root, work, tmp_path, base, jobs=1)
    before = everything(tmp_path)
    rules = Policy(late=Late(), manual={"s0001": [Manual(1.5, "Explained it in person.")]})
    outcome = grade(root, work, tmp_path, base, jobs=1, policy=rules)
    assert (outcome.kept, outcome.adjusted) == (COUNT, 1)
    report = RunDirectory(tmp_path).load("s0001")
    assert report is not None
    assert report.score == total(report.checks, []) + 1.5
    assert "Explained it in person." in RunDirectory(tmp_path).feedback("s0001", ".md").read_text()
    assert grade(root, work, tmp_path, base, jobs=1).adjusted == 1
    assert everything(tmp_path) == before


ROSTER = "id,name,email,section\n" + "".join(f"u{n},S {n:04d},s{n:04d}@uni.example,A\n" for n in range(COUNT))


def test_a_roster_that_is_added_or_edited_grades_nobody_again(
    root: Path, base: Ground, work: Path, tmp_path: Path
) -> None:
    """Each result goes on under the id and the name that the roster gives, as if it were graded with it at once."""
    roster, out, afresh = tmp_path / "roster.csv", tmp_path / "out", tmp_path / "afresh"
    grade(root, work, out, base, jobs=1)
    before = everything(out)
    for text in (ROSTER, ROSTER.replace("S 0001", "S. 0001").replace("u2,", "v2,")):
        roster.write_text(text)
        outcome = grade(root, work, out, base, jobs=1, people=roster)
        assert outcome.kept == len(outcome.grades)
        assert outcome.adjusted
    grade(root, work, afresh, base, jobs=1, people=roster)
    assert everything(out) == everything(afresh)
    assert grade(root, work, out, base, jobs=1, people=roster).adjusted == 0
    assert grade(root, work, out, base, jobs=1).kept == COUNT
    assert everything(out) == before


SAME = ("alice", "bob", "Carol", "carol")
ROSTERS = ["", "alice u1 bob u2", "alice u2 bob u1", "bob u1", "alice X bob x", "Carol bob", ""]


@pytest.mark.parametrize("same", [False, True], ids=["other work", "the same work"])
def test_ids_that_change_hands_mix_nobody_up(root: Path, base: Ground, tmp_path: Path, *, same: bool) -> None:
    """Ids that are swapped, given on, given back or another's name: what is there is what grading afresh gives."""
    for number, name in enumerate(SAME):
        (tmp_path / "work" / name).mkdir(parents=True)
        text = class_runs.WRONG if same else (course.RIGHT, class_runs.WRONG)[number % 2] + f"# {number}\n"
        (tmp_path / "work" / name / "double.py").write_text(text)
    out = tmp_path / "out"
    for turn, pairs in enumerate(ROSTERS):
        words = pairs.split()
        roster = tmp_path / "roster.csv"
        lines = [f"{now},{now}@uni.example,{was}" for was, now in zip(words[::2], words[1::2], strict=True)]
        roster.write_text("\n".join(["id,email,github user", *lines]) + "\n")
        people = roster if words else None
        grade(root, tmp_path / "work", out, base, jobs=1 + turn % 2, people=people, fresh=turn == 3)
        grade(root, tmp_path / "work", tmp_path / f"afresh{turn}", base, jobs=1, people=people)
        assert everything(out) == everything(tmp_path / f"afresh{turn}"), pairs


GROUP = """\
submission_1:
  :submitters:
  - :name: Ann Ash
    :sid: u1
    :email: ann@uni.example
  - :name: Bo Birch
    :sid: u2
    :email: bo@uni.example
"""


def test_who_comes_in_a_group_later_is_missing_no_more(root: Path, base: Ground, tmp_path: Path) -> None:
    """Else they would have two results, and no grade could be exported for them."""
    work, roster, out = handed_in(tmp_path / "work", 1), tmp_path / "roster.csv", tmp_path / "out"
    roster.write_text("id,name\nu1,Ann Ash\nu2,Bo Birch\nu3,Cy Cole\n")
    grade(root, work, out, base, jobs=1, people=roster)
    assert RunDirectory(out).submissions() == ["s0000", "u1", "u2", "u3"]
    assert json.loads((out / "run.json").read_bytes())["counts"] == {"graded now": 1, "kept from before": 0}
    (work / "s0000").rename(work / "submission_1")
    (work / "submission_metadata.yml").write_text(GROUP)
    grade(root, work, out, base, jobs=1, people=roster)
    assert RunDirectory(out).submissions() == ["s0000", "u1_u2", "u3"]


def test_another_class_in_the_same_folder_keeps_its_results(root: Path, base: Ground, tmp_path: Path) -> None:
    """Somebody there handed in the very same work: it is no former result of anybody here."""
    for name in ("here/ann", "here/bo", "there/yan", "there/zoe"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "double.py").write_text(course.RIGHT)
    out = tmp_path / "out"
    grade(root, tmp_path / "there", out, base, jobs=1)
    assert grade(root, tmp_path / "here", out, base, jobs=1).kept == 2
    assert RunDirectory(out).submissions() == ["ann", "bo", "yan", "zoe"]


def test_a_time_that_is_told_later_is_no_other_work(root: Path, base: Ground, tmp_path: Path) -> None:
    """What is known of when and how something was handed in is put on the stored result, notes and lateness too."""
    made = class_runs.plan(root, handed_in(tmp_path / "work", 1), tmp_path / "out", base, jobs=1)
    entry = made.intake.entries[0]
    for notes in (("One.",), ("Another.", "And one more."), ()):
        told = dataclasses.replace(entry, submitted_at="2026-03-02T10:00:00+00:00", notes=notes)
        made.intake.entries = [told]
        for fresh, out in ((False, tmp_path / "kept"), (True, tmp_path / "afresh")):
            plan = dataclasses.replace(made, fresh=fresh, out=RunDirectory(out))
            outcome = batch.grade(plan, batch.here(plan, base.root), lambda _: None)
            assert outcome.kept == (not fresh and notes != ("One.",))
        assert everything(tmp_path / "kept") == everything(tmp_path / "afresh")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_processes_killed_at_random_cost_nothing(root: Path, base: Ground, tmp_path: Path, seed: int) -> None:
    """Sandbox children, their zygotes and markers are killed while the class is graded: the run ends complete."""
    work, quiet, out = handed_in(tmp_path / "work", 8 * COUNT), tmp_path / "quiet", tmp_path / "out"
    grade(root, work, quiet, base)
    plan = class_runs.plan(root, work, out, base)
    dice = random.Random(seed)
    killer = os.fork()
    if killer == 0:
        try:
            ours = {os.getpid(), base.root.pid}
            for _ in range(8):
                time.sleep(dice.uniform(0.05, 0.25))
                there = [pid for pid in descendants(os.getppid()) if pid not in ours]
                if there:
                    os.kill(dice.choice(there), signal.SIGKILL)
        finally:
            os._exit(0)
    try:
        outcome = batch.grade(plan, batch.here(plan, base.root), lambda _: None)
    finally:
        os.kill(killer, signal.SIGKILL)
        os.waitpid(killer, 0)
    if outcome.faults:  # one submission met with three deaths: it is named, and the same command grades it
        outcome = grade(root, work, out, base)
    assert outcome.faults == []
    assert everything(out) == everything(quiet)


def test_a_full_disk_is_a_clear_error_and_leaves_nothing_half_written(
    root: Path, base: Ground, work: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """The run stops at once with the file and the reason; once there is room the same command completes it."""
    with full_disk(4096), pytest.raises(GraderError, match="can't be written") as caught:
        grade(root, work, tmp_path, base)
    assert caught.value.exit_status == 2
    assert list((tmp_path / "results").glob("*.json")) == []
    grade(root, work, tmp_path, base)
    assert everything(tmp_path) == everything(undisturbed)
    assert [path.name for path in tmp_path.rglob(".*")] == [".lock"]


def test_a_folder_that_can_not_be_written_is_named() -> None:
    """A read-only run directory ends the run with its path, not with a traceback."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        RunDirectory(out).create()
        out.chmod(0o555)
        try:
            os.seteuid(65534 if os.geteuid() == 0 else os.geteuid())  # root may write anywhere
            with pytest.raises(UsageError, match="Nothing can be written into") as caught, RunDirectory(out).locked():
                pass
            with pytest.raises(UsageError, match=r"grades\.csv can't be written"):
                write(out / "grades.csv", "x")
        finally:
            os.seteuid(os.getuid())
            out.chmod(0o755)
    assert name in str(caught.value)


def test_two_runs_into_one_folder_are_refused(tmp_path: Path) -> None:
    """The second says that another run is writing there; when that has ended, the folder is free."""
    first, second = RunDirectory(tmp_path), RunDirectory(tmp_path)
    with (
        first.locked(),
        pytest.raises(UsageError, match="Another run"),
        second.locked(),
    ):
        pass
    with second.locked():
        pass


def test_the_drafts_of_a_killed_run_are_no_results(tmp_path: Path, undisturbed: Path) -> None:
    """What a killed process had half written is never read as a result, and is cleared away."""
    report = RunDirectory(undisturbed).load("s0000")
    assert report is not None
    run = RunDirectory(tmp_path)
    run.create()
    write(run.result("s0000"), msgspec.json.encode(report))
    (tmp_path / "results" / "4711.part").write_text('{"schema": 1, "assi')
    assert [one.submission.id for one in run.reports()] == ["s0000"]
    with run.locked():
        assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["s0000.json"]


def test_files_of_students_do_not_stay_behind_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed marker can't remove the files that it laid out; a later run does, and touches nothing that is in use."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, hours in (("submission-old", 2), ("submission-new", 0), ("other-old", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.txt").write_text("x")
        os.utime(tmp_path / name, (time.time() - 3600 * hours,) * 2)
    leftovers.sweep(15)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other-old", "submission-new"]


def test_a_full_folder_for_temporary_files_is_not_held_against_a_student(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data that can't be laid out would be missed by the student's code: the run stops, and nothing stays behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with full_disk(), pytest.raises(UsageError, match=r"can't be laid out.* Free some space .* set TMPDIR"):
        leftovers.lay_out({"small.txt": b"x", "weights.pt": b"x" * 1000})
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_no_disk_can_hold_keeps_nothing_else_from_being_laid_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is a file and a folder at once, or far too long; and none leads out of the folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    files = {"a": b"1", "a/b": b"2", "n" * 300: b"3", "../out": b"4", "/tmp/out": b"5", "data/A": b"6", "data/a": b"7"}
    folder = leftovers.lay_out(files)
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == {"a": b"1", "data/A": b"6", "data/a": b"7"}
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_a_command_that_was_stopped_goes_on_where_it_was(
    how: signal.Signals, root: Path, base: Ground, tmp_path: Path
) -> None:
    """Main itself is killed or interrupted twice; nothing is left running, and the same command completes the run."""
    work, undisturbed, out = handed_in(tmp_path / "work", MANY), tmp_path / "undisturbed", tmp_path / "out"
    grade(root, work, undisturbed, base)
    words = class_runs.command(root, work, out, "--jobs", "2")
    dice = random.Random(how)
    for _ in range(2):
        running = subprocess.Popen(
            words, env=class_runs.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        seen = len(list((out / "results").glob("*.json")))
        while len(list((out / "results").glob("*.json"))) <= seen and running.poll() is None:
            time.sleep(0.02)
        time.sleep(dice.uniform(0, 0.1))
        below = descendants(running.pid)
        running.send_signal(how)
        told, _ = running.communicate(timeout=60)
        if how == signal.SIGINT and running.returncode:  # 0: it was through when the signal came
            assert running.returncode == 1
            assert "Everything finished is kept" in told
            assert "Traceback" not in told
        gone = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in below) and time.monotonic() < gone:
            time.sleep(0.05)
        assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]
    done = class_runs.run(words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert everything(out) == everything(undisturbed)


@pytest.mark.slow
def test_the_command_survives_kills_of_everything_below_it(root: Path, base: Ground, tmp_path: Path) -> None:
    """Whichever of its processes die, also the root zygote: the command, repeated, ends equal."""
    work, undisturbed, out = handed_in(tmp_path / "work", 2 * COUNT), tmp_path / "undisturbed", tmp_path / "out"
    grade(root, work, undisturbed, base)
    words = class_runs.command(root, work, out, "--jobs", "2")
    dice = random.Random(7)
    for _ in range(4):
        running = subprocess.Popen(
            words, env=class_runs.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while running.poll() is None:
            time.sleep(dice.uniform(0.2, 0.5))
            kill_one(running.pid, dice)
        if running.returncode == 0:
            break
    done = class_runs.run(words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert everything(out) == everything(undisturbed)
