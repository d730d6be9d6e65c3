"""Grade sheets: what is written into a downloaded sheet changes its grade cells and no other byte."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import UsageError
from grader.pages.words import load_words
from grader.results import (
    NOTHING,
    Adjustment,
    CheckResult,
    EnvironmentInfo,
    Person,
    Report,
    RunInfo,
    SandboxInfo,
    SubmissionInfo,
    encode,
)
from grader.run_directory import RunDirectory, write
from grader.sheets import sheet
from grader.sheets.export import Manner, comment, export, fill
from grader.sheets.gradebook import Gradebook, Kind, understand

WORDS = load_words()
ADA = Person(id="u0001", name="Ada Löw", email="ada@uni.example", lms_id="12345")
BOB = Person(id="u0002", name="Bob", email="bob@uni.example", lms_id="12346")


def report(
    *people: Person, score: float = 31.5, status: str = "graded", files: tuple[str, ...] = ("a.py",), problem: str = ""
) -> Report:
    """A report out of 40 points."""
    check = CheckResult(
        id="rows", title="Rows sum to 1", status="failed", score=score, max_score=40, message="Row 0 sums to √2 < 3."
    )
    return Report(
        assignment="hw2",
        title="HW2 CNN",
        submission=SubmissionInfo(id=people[0].id, files=list(files), digest="d", people=list(people)),
        problem=problem,
        status=status,  # type: ignore[arg-type]
        score=score,
        max_score=40,
        checks=[check],
        sandbox=SandboxInfo(level="A", layers=[]),
        environment=EnvironmentInfo(grader="1", torch="2", python="3", seed_id="s"),
    )


CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,HW1 (987653),HW2 CNN (987654),Final Score\r\n"
    ",,,,,Manual Posting,,(read only)\r\n"
    "    Points Possible,,,,,10,40,(read only)\r\n"
    '"Löw, Ada",12345,u0001,ada,"Sec 1, early",9.00,,88.1\r\n'
    '"O""Neil, Bob",12346,u0002,bob,Sec 1,,"12.00",70\r\n'
    '"Test, Student",99999,,x9f3,Sec 1,,,\r\n'
)
MOODLE = (
    '\ufeffIdentifier,"Full name","ID number","Email address",Status,Grade,"Maximum grade",'
    '"Grade can be changed","Last modified (grade)","Feedback comments"\n'
    '"Participant 12345","Ada Löw",,ada@uni.example,"Submitted for grading",,40.00,Yes,-,\n'
    '"Participant 12346",Bob,u0002,,"No submission",31.50,40.00,Yes,'
    '"Wednesday, 4 February 2026, 1:30 AM","<p>Old\nwords</p>"\n'
)
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"HW2 CNN [Total Pts: 40 Score] |55012"\n'
    '"Löw"\t"Ada"\t"u0001"\t""\t"0"\n'
    '"B"\t"Bob"\t"bob"\t"u0002"\t""\n'
)
BRIGHTSPACE = (
    "OrgDefinedId,Username,HW2 CNN Points Grade <Numeric MaxPoints:40>,End-of-Line Indicator\r\n"
    "#u0001,#ada,,#\r\n#u0002,#bob,12,#\r\n"
)


def book(data: bytes | str, kind: Kind, **options: object) -> Gradebook:
    raw = data.encode() if isinstance(data, str) else data
    return understand(sheet.read("grades", raw), kind, title="HW2 CNN", **options)  # type: ignore[arg-type]


def cells(data: bytes, encoding: str, delimiter: str) -> list[list[str]]:
    """The table as Python's own reader sees it."""
    return list(csv.reader(io.StringIO(data.decode(encoding), newline=""), delimiter=delimiter))


def test_canvas_grades_change_their_cells_and_no_other_byte() -> None:
    """Two cells of the assignment's column are new; quotes, section names, totals and line ends are the same bytes."""
    found = book(CANVAS, "canvas")
    told = fill(found, [report(ADA), report(BOB, score=40)], Manner(), WORDS)
    assert (told.changed, told.unmatched, told.without) == (2, [], ["Test, Student · 99999 · x9f3"])
    expected = CANVAS.replace('"Sec 1, early",9.00,,88.1', '"Sec 1, early",9.00,31.5,88.1')
    assert found.sheet.bytes().decode() == expected.replace('"12.00"', '"40"')


def test_moodle_grade_and_feedback_change_and_nothing_else() -> None:
    """The worksheet's byte order mark, quotes and dates stay; an equal grade is not even written in another form."""
    found = book(MOODLE, "moodle")
    fill(found, [report(ADA), report(BOB)], Manner(), WORDS)
    before, after = cells(MOODLE.encode(), "utf-8-sig", ","), cells(found.sheet.bytes(), "utf-8-sig", ",")
    changed = {(row, before[0][column]) for row in range(3) for column in range(10)
               if before[row][column] != after[row][column]}  # fmt: skip
    assert changed == {(1, "Grade"), (1, "Feedback comments"), (2, "Feedback comments")}
    assert found.sheet.bytes().startswith(MOODLE.partition("\n")[0].encode())
    assert b',31.50,40.00,Yes,"Wednesday, 4 February 2026, 1:30 AM",' in found.sheet.bytes()
    assert after[1][5] == "31.5"
    assert "√2 &lt; 3" in after[1][9]
    assert "<br>" in after[1][9]


def test_blackboard_keeps_its_tabs_its_quotes_and_utf_16() -> None:
    """UTF-16 with a byte order mark and quotes around everything come back as they were."""
    data = b"\xff\xfe" + BLACKBOARD.encode("utf-16-le")
    found = book(data, "csv")
    assert fill(found, [report(ADA), report(BOB, score=7)], Manner(), WORDS).changed == 2
    expected = BLACKBOARD.replace('"0"\n', '"31.5"\n').replace('"u0002"\t""', '"u0002"\t"7"')
    assert found.sheet.bytes() == b"\xff\xfe" + expected.encode("utf-16-le")


def test_brightspace_ids_match_behind_their_mark() -> None:
    """The # before ids is no part of them, and stays."""
    found = book(BRIGHTSPACE, "csv")
    fill(found, [report(ADA), report(BOB)], Manner(), WORDS)
    assert found.sheet.bytes().decode() == BRIGHTSPACE.replace("#ada,,#", "#ada,31.5,#").replace(",12,", ",31.5,")


def test_a_german_worksheet_is_mapped_by_its_headings() -> None:
    """Localised headings are named by options; semicolons, Windows-1252 and the decimal comma stay."""
    text = (
        "ID;Vollständiger Name;Matrikelnummer;Bewertung;Bestwertung;Zuletzt geändert (Bewertung);Feedback\r\n"
        "Teilnehmer/in12345;Ada Löw;u0001;;40,00;-;\r\n"
    )
    headings = {"lms_id": "ID", "id": "Matrikelnummer", "grade": "Bewertung", "maximum": "Bestwertung"}
    found = book(text.encode("cp1252"), "moodle", headings=headings)
    fill(found, [report(ADA)], Manner(), WORDS)
    assert found.sheet.bytes() == text.replace("u0001;;", "u0001;31,5;").encode("cp1252")


def test_feedback_survives_an_encoding_that_lacks_its_signs() -> None:
    """√ is not in Windows-1252: it is written as HTML writes it, and the rest of the file stays."""
    data = MOODLE.lstrip("\ufeff").encode("cp1252")
    found = book(data, "moodle")
    fill(found, [report(ADA)], Manner(), WORDS)
    assert b"&#8730;2" in found.sheet.bytes()
    assert "Löw".encode("cp1252") in found.sheet.bytes()


def test_nobody_is_guessed() -> None:
    """A person with unknown ids is listed, also when the name is the same; two rows or two submissions likewise."""
    stranger = Person(id="u0009", name="Bob", email="")
    both = msgspec.structs.replace(ADA, email="bob")
    found = book(CANVAS, "canvas")
    told = fill(found, [report(stranger), report(both), report(BOB), report(BOB, score=3)], Manner(), WORDS)
    assert found.sheet.changed == 0
    assert [line.partition(" ·")[0] for line in told.unmatched] == ["Bob", "Ada Löw"]
    assert "several rows" in told.unmatched[1]
    assert "2 submissions" in told.left[0]


def test_a_student_number_is_never_taken_for_canvas_number() -> None:
    """Ada's student number is Bob's number in Canvas: without a column of student numbers she is not found."""
    ada = Person(id="12346", name="Ada")
    found = book(CANVAS.replace("SIS User ID", "Notes"), "canvas")
    assert fill(found, [report(ada)], Manner(), WORDS).unmatched == ["Ada · 12346"]
    named = book(CANVAS, "canvas", headings={"id": "ID"})
    assert fill(named, [report(ada)], Manner(), WORDS).changed == 1


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (report(ADA, status="error"), "the grader itself failed"),
        (report(ADA, score=0, files=(), problem=NOTHING), "nothing was handed in"),
        (report(ADA, score=0, files=(), problem="The zip is damaged."), "what was handed in can't be read"),
    ],
)
def test_uncertain_and_missing_work_is_not_written(one: Report, words: str) -> None:
    """A fault of ours is no grade; a missing submission is a 0 only when asked for."""
    found = book(CANVAS, "canvas")
    told = fill(found, [one], Manner(), WORDS)
    assert found.sheet.changed == 0
    assert words in told.left[0]


def test_a_zip_that_can_not_be_read_is_not_written_as_a_zero_with_the_missing() -> None:
    """Who handed it in did hand something in; the mark is for staff to decide, and then it is written."""
    damaged = report(ADA, score=0, files=(), problem="The zip is damaged.")
    told = fill(book(CANVAS, "canvas"), [damaged], Manner(missing=True), WORDS)
    assert (told.changed, len(told.left)) == (0, 1)
    decided = [Adjustment(kind="manual", points=20, reason="It came by mail.")]
    told = fill(
        book(CANVAS, "canvas"), [msgspec.structs.replace(damaged, adjustments=decided, score=20)], Manner(), WORDS
    )
    assert (told.changed, told.left) == (1, [])


def test_missing_work_is_a_zero_when_asked_for_but_not_for_the_excused() -> None:
    """--missing writes the 0; Canvas's EX stays EX."""
    excused = CANVAS.replace('"12.00"', "EX")
    found = book(excused, "canvas")
    told = fill(
        found, [report(one, score=0, files=(), problem=NOTHING) for one in (ADA, BOB)], Manner(missing=True), WORDS
    )
    assert told.changed == 1
    assert told.left == ["Bob · u0002 · bob@uni.example: the sheet says EX"]


def test_another_maximum_is_asked_about() -> None:
    """The sheet's 40 points and the run's differ: refused, unless told to scale or not to."""
    other = msgspec.structs.replace(report(ADA), max_score=80)
    with pytest.raises(UsageError, match="--scale"):
        fill(book(CANVAS, "canvas"), [other], Manner(), WORDS)
    for scale, grade in ((True, b"15.75"), (False, b"31.5")):
        found = book(CANVAS, "canvas")
        fill(found, [other], Manner(scale=scale), WORDS)
        assert b'"Sec 1, early",9.00,' + grade + b"," in found.sheet.bytes()


@pytest.mark.parametrize(
    ("data", "kind", "column", "words"),
    [
        (CANVAS, "canvas", "HW9", "No column is called 'HW9'. There is: Student, ID"),
        (CANVAS.replace("HW1", "HW2 CNN"), "canvas", "", "Several columns are called 'HW2 CNN'"),
        ("a,b\n1,2\n", "csv", "b", "no column with ids"),
        ("", "canvas", "", "is empty"),
        ("id,grade\nu1,3\nu2,\"4\n", "csv", "grade", "line 3: a quotation mark"),
        (b"PK\3\4xxxx", "csv", "", "workbook"),
    ],
)  # fmt: skip
def test_a_sheet_that_is_not_understood_is_refused(data: bytes | str, kind: Kind, column: str, words: str) -> None:
    """It says what is missing and which columns there are."""
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        book(data, kind, column=column)


@pytest.mark.parametrize("name", ["HW2 CNN (987654)", "HW2 CNN", "987654", "hw2 cnn"])
def test_the_column_is_found_by_title_number_or_heading(name: str) -> None:
    """As Canvas itself finds it."""
    assert book(CANVAS, "canvas", column=name).columns.grade == 6


SEPARATED = st.sampled_from([",", ";", "\t"])
TEXT = st.text(st.sampled_from("aü√1 ,;\t\"'=\n\r"), max_size=6)


@given(
    st.lists(st.lists(TEXT, min_size=1, max_size=4), min_size=1, max_size=5),
    SEPARATED,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.data(),
)
def test_whatever_is_written_only_the_cell_that_is_set_changes(
    rows: list[list[str]], delimiter: str, end: str, encoding: str, quoting: int, data: st.DataObject
) -> None:
    """Any table in any dialect: read and written it is the same bytes; with one cell set, all others are the same."""
    first = ["id", "grade", "note"]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([first, *rows])  # type: ignore[call-overload]
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    raw = mark + text.getvalue().encode(encoding)
    parsed = sheet.read("x", raw)
    assert parsed.bytes() == raw
    row = data.draw(st.integers(1, len(parsed.rows) - 1))
    column = data.draw(st.integers(0, len(parsed.rows[row].cells) - 1))
    before = [list(one.cells) for one in parsed.rows]
    value = data.draw(TEXT)
    parsed.set(parsed.rows[row], column, value)
    again = sheet.read("x", parsed.bytes())
    assert again.rows[row].value(column) == value
    after = [list(one.cells) for one in again.rows]
    del before[row][column], after[row][column]
    assert after == before


@given(st.binary(max_size=60))
def test_any_bytes_are_kept_or_refused(data: bytes) -> None:
    """Whatever the file is, reading and writing it never changes a byte."""
    try:
        parsed = sheet.read("x", b"id,grade\n" + data)
    except UsageError:
        return
    assert parsed.bytes() == b"id,grade\n" + data


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", " =1"])
def test_formulas_are_harmless_in_every_sheet(text: str) -> None:
    """What a spreadsheet would run begins with an apostrophe; plain negative numbers do not."""
    assert sheet.harmless(text) == f"'{text}"
    assert sheet.harmless("-1.5") == "-1.5"
    named = msgspec.structs.replace(ADA, name=text)
    failed = report(named)
    adjusted = msgspec.structs.replace(failed, adjustments=[Adjustment(kind="manual", points=-1, reason=text)])
    assert not comment(adjusted, WORDS, phase="published", html=False).startswith(("=", "+", "-", "@", "\t"))


def run_directory(tmp_path: Path, *reports: Report) -> Path:
    run = RunDirectory(tmp_path / "run")
    run.create()
    info = RunInfo(
        id="run",
        started="2026-03-02T10:00:00+00:00",
        seconds=1,
        assignment="hw2",
        title="HW2 CNN",
        grader="1",
        torch="2",
        python="3",
        seed_id="s",
        sandbox=SandboxInfo(level="A", layers=[]),
    )
    write(run.path / "run.json", msgspec.json.encode(info))
    for one in reports:
        write(run.result(one.submission.id), encode(one))
    return run.path


def test_into_edits_the_file_in_one_step_and_keeps_its_permissions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file behind a link is replaced whole, stays as private as it was, and who is missing is listed."""
    stranger = Person(id="u0009", name="Eve")
    run = run_directory(tmp_path, report(ADA), report(stranger))
    path, link = tmp_path / "gradebook.csv", tmp_path / "link.csv"
    path.write_bytes(CANVAS.encode())
    path.chmod(0o600)
    link.symlink_to(path)
    export(run, "canvas", into=link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().count(b",31.5,") == 1
    told = capsys.readouterr().out
    assert "rows changed: 1" in told
    assert "Not in the sheet, so not written: Eve · u0009" in told
    before = path.stat().st_mtime_ns
    export(run, "canvas", into=link)
    assert path.stat().st_mtime_ns == before
    copy = tmp_path / "copy.csv"
    export(run, "canvas", into=path, output=copy)
    assert copy.read_bytes() == path.read_bytes()


def test_fresh_sheets_are_what_the_imports_take(tmp_path: Path) -> None:
    """Without a download: Canvas's own heading rows, Moodle's import by student number, or plain CSV."""
    run = run_directory(tmp_path, report(ADA), report(msgspec.structs.replace(BOB, name="=1+1")))
    for kind in ("canvas", "moodle", "csv"):
        export(run, kind, output=tmp_path / f"{kind}.csv")  # type: ignore[arg-type]
    assert (tmp_path / "canvas.csv").read_text() == (
        "Student,ID,SIS User ID,SIS Login ID,Section,HW2 CNN\n    Points Possible,,,,,40\n"
        "Ada Löw,12345,u0001,ada@uni.example,,31.5\n'=1+1,12346,u0002,bob@uni.example,,31.5\n"
    )
    moodle = cells((tmp_path / "moodle.csv").read_bytes(), "utf-8", ",")
    assert moodle[1][:4] == ["u0001", "Ada Löw", "ada@uni.example", "31.5"]
    assert "u0001" in (tmp_path / "csv.csv").read_text()


def test_members_of_a_group_each_get_the_grade() -> None:
    """One report of two people is written into both rows."""
    found = book(CANVAS, "canvas")
    assert fill(found, [report(ADA, BOB)], Manner(), WORDS).changed == 2


def test_the_docs_name_every_option_and_every_setting() -> None:
    """docs/grades.md follows the verbs: each option of export and compare, each key of [late], each heading."""
    from grader.assignment import Late
    from grader.cli import cli
    from grader.sheets.gradebook import HEADINGS

    text = (Path(__file__).parent.parent / "docs" / "grades.md").read_text(encoding="utf-8")
    options = [
        option
        for verb in ("export", "compare")
        for parameter in cli.commands[verb].params
        for option in parameter.opts
        if option.startswith("--")
    ]
    keys = {key for kind in HEADINGS.values() for key in kind}
    missing = [word for word in (*options, *Late.__struct_fields__, *keys) if f"{word}" not in text]
    assert missing == []
