"""What students and learning systems send becomes rows, and every input file has exactly one fate."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest import mock

import pytest

from grader.assignment import Late, Limits, Settings
from grader.entry import Entry as Function
from grader.errors import IntakeError, ReadError, UsageError
from grader.intake import Intake, reading, scan, tars
from grader.intake.tree import Unreadable
from grader.intake.wanted import MEGABYTE, Wanted
from tests.disks import failing_disk
from tests.handed_in import CODE, NOTEBOOK, Tree, locked, tarred, unfold, zipped
from tests.intake_cases import CASES, PY, Case

SETTINGS = Settings(
    title="Attention",
    entry=Function(function="scaled_dot_product_attention", arguments=["Q", "K", "V"], returns=["output", "weights"]),
    files=["attention.py", "attention.ipynb"],
    limits=Limits(files=50, file_mb=2),
    late=Late(due="2026-02-03T23:59:00-08:00"),
)


def make(case: Case, way: str, place: Path) -> Path:
    """The case's tree on disk, in the way that is asked for."""
    if way == "folder":
        return unfold(case.tree, place / "class")
    path = place / "class.zip"
    below = "export/" if way == "wrapped zip" else ""
    path.write_bytes(zipped(case.tree, below) if case.raw is None else case.raw)
    return path


def fates(intake: Intake, shown: str) -> dict[str, list[str]]:
    """Each input path, below `shown`, to what became of it."""
    found: dict[str, list[str]] = {}
    for entry in intake.entries:
        for file in entry.files:
            found.setdefault(file.item.path, []).append(f"of {entry.id}")
    for one in intake.explained:
        found.setdefault(one.path.removeprefix(f"{shown}/"), []).append(f"explained: {one.why}")
    for junk in intake.junk:
        found.setdefault(junk.removeprefix(f"{shown}/"), []).append("junk")
    return found


@pytest.mark.parametrize(
    ("case", "way"), [pytest.param(case, way, id=f"{case.title}, {way}") for case in CASES for way in case.ways]
)
def test_corpus(case: Case, way: str, tmp_path: Path) -> None:
    """Each made-up download gives the rows, the messages and the explanations that belong to it, in any wrapping."""
    path = make(case, way, tmp_path)
    roster = None
    if case.roster:
        roster = tmp_path / "roster.csv"
        roster.write_text(case.roster, encoding="utf-8")
    with scan([path], SETTINGS, source=case.source, roster=roster) as intake:
        read = {entry.id: intake.read(entry) for entry in intake.entries}
        got = {entry: one.problem or sorted(file.path for file in one.files) for entry, one in read.items()}
        assert len(read) == len(intake.entries) == len(case.rows), got
        below = "export/" if way == "wrapped zip" else ""
        for name, outcome in case.rows.items():
            full = name if name in read else next((known for known in read if known.startswith(name)), name)
            assert full in got, f"{name} is not among {list(got)}"
            if isinstance(outcome, str):
                assert outcome in read[full].problem
                assert read[full].files == []
            else:
                inside = below if case.source == "one" or "one submission" in intake.understood[0] else ""
                assert got[full] == sorted(inside + path for path in outcome)
        assert case.form in intake.understood[0]
        became = fates(intake, str(path))
        for name, words in case.explained.items():
            assert words in became[below + name][0]
        for name in case.junk:
            assert became[below + name] == ["junk"]
        for name, words in case.notes.items():
            full = next(known for known in read if known.startswith(name))
            assert any(words in note for note in read[full].notes), read[full].notes
        for name, people in case.people.items():
            assert [person.name or person.id for person in read[name].people] == people
        for name, time in case.times.items():
            assert read[name].submitted_at == time
        check_account(case, below, became)


def check_account(case: Case, below: str, became: dict[str, list[str]]) -> None:
    """Every file of the tree has one fate, and nothing else has any."""
    junk = tuple(path for path, fate in became.items() if fate == ["junk"] and path.endswith("/"))
    names = {(below + name).replace("\n", "\ufffd") for name in case.tree if not name.endswith("/")}
    assert all(len(fate) == 1 for fate in became.values()), became
    assert {name for name in names if not name.startswith(junk)} == {name for name in became if not name.endswith("/")}


def test_ids_are_the_same_every_time_and_safe(tmp_path: Path) -> None:
    """Ids are file names that every system takes, unique even where case does not count, and stable."""
    case = next(case for case in CASES if case.title == "names as people have them")
    path = make(case, "folder", tmp_path)
    first, again = (
        [entry.id for entry in scan([path], SETTINGS).entries],
        [entry.id for entry in scan([path], SETTINGS).entries],
    )
    assert first == again
    assert len({name.casefold() for name in first}) == len(first)
    assert all(len(name.encode()) <= 80 and not set(name) & set('/\\:*?"<>|\n ') for name in first)


def test_several_files_by_path(tmp_path: Path) -> None:
    """Files named on the command line are one submission each; the same name in many folders is told apart by these."""
    unfold({f"ada/{PY}": CODE, f"bob/{PY}": CODE, "cy.py": CODE, "note.txt": "x"}, tmp_path)
    paths = [tmp_path / name for name in (f"ada/{PY}", f"bob/{PY}", "cy.py", "note.txt")]
    intake = scan(paths, SETTINGS)
    assert [entry.id for entry in intake.entries] == ["ada", "bob", "cy"]
    assert [one.path for one in intake.explained] == [f"{tmp_path}/note.txt"]


def test_several_zips_by_path(tmp_path: Path) -> None:
    """Each zip on the command line is named after itself, whatever folder is in it; a broken one is a row too."""
    for name in ("ada", "bob"):
        (tmp_path / f"{name}.zip").write_bytes(zipped({f"hw2/{PY}": CODE}))
    (tmp_path / "cy.zip").write_bytes(b"")
    with scan(sorted(tmp_path.glob("*.zip")), SETTINGS) as intake:
        assert [entry.id for entry in intake.entries] == ["ada", "bob", "cy"]
        assert "is empty" in intake.read(intake.entries[2]).problem


def test_folders_of_one_name_by_path(tmp_path: Path) -> None:
    """submitted/*/ps1 gives rows named after the students, not ps1 for all."""
    unfold({f"ada/ps1/{PY}": CODE, f"bob/ps1/{PY}": CODE}, tmp_path)
    intake = scan([tmp_path / "ada/ps1", tmp_path / "bob/ps1"], SETTINGS)
    assert [entry.id for entry in intake.entries] == ["ada", "bob"]


def test_folder_with_a_download_in_it(tmp_path: Path) -> None:
    """A folder that holds just the downloaded zip is as good as the zip."""
    unfold({"submissions.zip": {"doejane_1_2_attention.py": CODE, "roe_3_4_a.py": CODE}, ".DS_Store": b""}, tmp_path)
    with scan([tmp_path], SETTINGS) as intake:
        assert [entry.id for entry in intake.entries] == ["doejane_1", "roe_3"]
        assert intake.junk == [f"{tmp_path}/.DS_Store"]
        assert intake.explained == []


def test_later_download_replaces_an_earlier_one(tmp_path: Path) -> None:
    """People who appear in two downloads are graded once, on what they handed in last."""
    paths = []
    for day in ("04", "05"):
        listed = f"submission_{day}:\n  :submitters:\n  - :name: Ada\n    :email: ada@x.example\n"
        tree: Tree = {
            "submission_metadata.yml": f"{listed}  :created_at: 2026-02-{day} 09:30:00 Z\n",
            f"submission_{day}/a.py": CODE,
        }
        paths.append(unfold(tree, tmp_path / day))
    intake = scan(paths, SETTINGS)
    assert [entry.submitted_at[:10] for entry in intake.entries] == ["2026-02-05"]
    assert "handed in earlier" in next(one.why for one in intake.explained if one.path.endswith("a.py"))


def test_missing_people_are_rows(tmp_path: Path) -> None:
    """Somebody on the roster who handed nothing in is a row that says so."""
    roster = tmp_path / "people.csv"
    roster.write_bytes("id\tname\tSection\nada\tAda Ö\tA\nbob\tBob\tB\n".encode("utf-16"))
    intake = scan([unfold({f"ada/{PY}": CODE, f"cy/{PY}": CODE}, tmp_path / "class")], SETTINGS, roster=roster)
    bob = next(entry for entry in intake.entries if entry.missing)
    assert (bob.id, bob.people[0].section, bob.files) == ("bob", "B", ())
    assert intake.read(bob).problem.startswith("Nothing was handed in")


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({}, "is empty"),
        ({"a.pdf": b"%PDF", "b.docx": b"PK"}, "Nothing in"),
        ({".DS_Store": b"x"}, "is empty"),
        (
            {f"ps1+x/{PY}": CODE, f"submitted/a/ps1/{PY}": CODE, f"submitted/a/ps2/{PY}": CODE, "source/": b""},
            "several assignments",
        ),
        ({"submission_metadata.yml": "submission_1: [", "submission_1/a.py": CODE}, "near line 1"),
    ],
)
def test_nothing_to_grade(tree: dict[str, bytes | str], words: str, tmp_path: Path) -> None:
    """Where there is nothing to grade, the message says where and how to mend it."""
    with pytest.raises(IntakeError, match=words):
        scan([unfold(dict(tree), tmp_path / "class")], SETTINGS)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    """A path that does not exist, is a loop of links, or is an unreadable zip is an error that names it."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "bad.zip").write_bytes(b"PK\3\4")
    for name, words in (("none", "does not exist"), ("loop", "can't be read"), ("bad.zip", "bad.zip is incomplete")):
        with pytest.raises(UsageError, match=words):
            scan([tmp_path / name], SETTINGS)
    with pytest.raises(IntakeError, match="no source 'moodel'"):
        scan([tmp_path], SETTINGS, source="moodel")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("surname,grade\nx,1\n", "no column is called"),
        ("id,name\n,Ada\n", "row 2"),
        ("id,name\n1,Ada\n2,Bo\n1,Cy\n", "rows 2 and 4"),
    ],
)
def test_roster_that_can_not_be_used(text: str, words: str, tmp_path: Path) -> None:
    """A roster with a fault is refused with the row and the mend."""
    roster = tmp_path / "roster.csv"
    roster.write_text(text)
    with pytest.raises(IntakeError, match=words):
        scan([unfold({PY: CODE}, tmp_path / "class")], SETTINGS, roster=roster)


def test_file_changed_after_the_scan(tmp_path: Path) -> None:
    """Between the look and the reading, a file that has become a link is a problem; one that is gone, our fault."""
    intake = scan([unfold({f"ada/{PY}": CODE, f"bob/{PY}": CODE}, tmp_path / "class")], SETTINGS)
    (tmp_path / "class/ada" / PY).unlink()
    (tmp_path / "class/bob" / PY).unlink()
    (tmp_path / "class/bob" / PY).symlink_to("/etc/hostname")
    ada, bob = intake.entries
    with pytest.raises(ReadError, match="can't be read"):
        intake.read(ada)
    assert "can't be read" in intake.read(bob).problem


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no permissions to take away")
@pytest.mark.parametrize("closed", [f"ada/{PY}", "ada", "ada/more"])
def test_what_the_machine_may_not_read_is_no_zero(closed: str) -> None:
    """A file or folder without permission is our fault, with its path; the others are read as ever."""
    with tempfile.TemporaryDirectory() as name:  # where another user may enter
        root = unfold({f"ada/{PY}": CODE, "ada/more/notes.txt": "x", f"bob/{PY}": CODE}, Path(name) / "class")
        Path(name).chmod(0o755)
        (root / closed).chmod(0)
        try:
            os.seteuid(65534 if os.geteuid() == 0 else os.geteuid())  # root may read anything
            intake = scan([root], SETTINGS)
            with pytest.raises(ReadError, match="Permission denied") as caught:
                intake.read(intake.entries[0])
            assert not intake.read(intake.entries[1]).problem
        finally:
            os.seteuid(os.getuid())
            (root / closed).chmod(0o755)
    assert str(root / closed) in str(caught.value)


@pytest.mark.parametrize("wrapped", [False, True], ids=["a file", "a zip"])
def test_a_failing_disk_is_no_damaged_file(tmp_path: Path, *, wrapped: bool) -> None:
    """An error of the disk in the middle of a file is told as the disk's, with the path; the others are read."""
    name = "hw.zip" if wrapped else PY
    ada: bytes | Tree = {PY: CODE} if wrapped else CODE
    root = unfold({f"ada/{name}": ada, f"bob/{PY}": CODE}, tmp_path / "class")
    with failing_disk(root / "ada" / name):
        intake = scan([root], SETTINGS)
        with pytest.raises(ReadError, match=r"Input/output error.*the disk .*has failed") as caught:
            intake.read(intake.entries[0])
        assert not intake.read(intake.entries[1]).problem
    assert str(root / "ada" / name) in str(caught.value)


def test_large_notebook_is_read(tmp_path: Path) -> None:
    """Saved pictures make a notebook large; it is read all the same."""
    data = NOTEBOOK + b" " * (6 << 20)
    intake = scan([unfold({"attention.ipynb": data}, tmp_path / "ada")], SETTINGS)
    assert intake.read(intake.entries[0]).files[0].data == data


def test_locked_download_is_nobodys_fault(tmp_path: Path) -> None:
    """A class's zip with a password is an error for staff, not a problem in every student's report."""
    path = tmp_path / "class.zip"
    path.write_bytes(locked({f"ada/{PY}": CODE, f"bob/{PY}": CODE}))
    with pytest.raises(IntakeError, match="protected by a password"):
        scan([path], SETTINGS)


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    """A named pipe in a folder, which would block whoever opens it, is explained and left out."""
    unfold({f"ada/{PY}": CODE, f"bob/{PY}": CODE}, tmp_path)
    os.mkfifo(tmp_path / "ada/pipe.py")
    intake = scan([tmp_path], SETTINGS)
    assert "not a regular file" in intake.explained[0].why
    assert [file.path for file in intake.read(intake.entries[0]).files] == [PY]


def test_archive_that_lists_too_many_files(tmp_path: Path) -> None:
    """A zip with a list of names that alone would fill the memory is refused before it is read."""
    data = bytearray(zipped({PY: CODE}))
    end = data.rfind(b"PK\5\6")
    data[end + 12 : end + 16] = (1 << 30).to_bytes(4, "little")
    unfold({"ada/hw.zip": bytes(data), f"bob/{PY}": CODE}, tmp_path)
    intake = scan([tmp_path], SETTINGS)
    assert "lists far too many files" in intake.read(intake.entries[0]).problem


def test_bombs_stop_at_the_caps(tmp_path: Path) -> None:
    """Archives that unpack without end, in a member that is ignored or in many small ones, stop at the caps."""
    small = Wanted((".py",), "f", (), most_files=50, most_bytes=MEGABYTE, zone=None)
    junk = tarred({"__pycache__/x": b"\0" * (16 << 20), PY: CODE}, "gz")
    with pytest.raises(Unreadable, match="more than can be taken"):
        list(tars.members(junk, 1 << 20, "hw.tar.gz"))
    tree = {f"{number}.dat": bytes(900_000) for number in range(40)}
    unfold({"ada/hw.zip": {**tree, PY: CODE}, f"bob/{PY}": CODE}, tmp_path)
    intake = scan([tmp_path], SETTINGS)
    with mock.patch.object(Wanted, "most_in_all", 10 * MEGABYTE):
        submission = reading.read(intake.entries[0], small)
    assert PY in {file.path for file in submission.files}
    assert sum(len(file.data) for file in submission.files) < 10 * MEGABYTE
    assert any("All files together would be more than 10 MB" in note for note in submission.notes)


def test_empty_work_handed_in_alone_is_a_row(tmp_path: Path) -> None:
    """Inside a grading service one folder is one submission, even an empty one: it says what to hand in."""
    intake = scan([tmp_path], SETTINGS, source="one")
    assert intake.read(intake.entries[0]).problem.startswith("Nothing was handed in")
    (tmp_path / "submission_metadata.yml").write_text("submission_1:\n  :submitters:\n  - :name: Eve\n")
    (tmp_path / "submission_1").mkdir()
    intake = scan([tmp_path], SETTINGS, source="one")
    assert len(intake.entries) == 1
    assert intake.entries[0].people[0].name == ""
