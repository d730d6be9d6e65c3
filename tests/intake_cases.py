"""Made-up downloads and folders, each with what must become of it. Read by test_intake.py."""

from __future__ import annotations

import random
import stat
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.handed_in import (
    CODE,
    NOTEBOOK,
    Link,
    Tree,
    device,
    locked,
    method,
    overlapping,
    spoiled,
    tarred,
    without_utf8_flag,
    zip_of,
    zipped,
)

PY, NB = "attention.py", "attention.ipynb"
LONG = "n" * 252 + ".py"


@dataclass
class Case:
    title: str
    tree: Tree
    rows: Mapping[str, list[str] | str]
    """Id to the paths that are graded, or to words of the problem."""
    form: str = ""
    """Words of what it is recognised as."""
    explained: dict[str, str] = field(default_factory=dict)
    junk: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    people: dict[str, list[str]] = field(default_factory=dict)
    """Id to the names or, where there is none, the ids of its people."""
    times: dict[str, str] = field(default_factory=dict)
    source: str = "auto"
    roster: str = ""
    ways: tuple[str, ...] = ("folder", "zip", "wrapped zip")
    raw: bytes | None = None
    """The zip itself, when its members can't be given as a tree."""


def upload(title: str, name: str, data: bytes | Tree, outcome: list[str] | str, note: str = "") -> Case:
    """One student's upload, in a folder of its own beside another student's."""
    tree: Tree = {f"ada/{name}": data, f"bob/{PY}": CODE}
    return Case(title, tree, {"ada": outcome, "bob": [PY]}, notes={"ada": note} if note else {})


YAML = """---
submission_501:
  :submitters:
  - :name: Ada L
    :sid: '00123'
    :email: ada@uni.example
  :created_at: 2026-02-04 09:30:00.250000000 Z
  :score: 31.0
  :results:
    tests:
    - name: shape
      score: 5.0
      output: |
        submission_999:
          :submitters:
  :history:
  - :id: 490
    :created_at: 2026-02-02 18:00:00.000000000 Z
    :score: 12.0
submission_502:
  :submitters:
  - :name: José Ñandú
    :sid:
    :email: jose@uni.example
  - :name: Bo B
    :email: bo@uni.example
  :created_at: 2026-02-04 01:30:00 -0800
submission_503:
  :submitters:
  - :name: Cy C
    :email: cy@uni.example
  :created_at: 2026-02-04 01:30:00 -08:00
"""
GRADESCOPE: Tree = {
    "submission_metadata.yml": YAML,
    f"submission_501/{PY}": CODE,
    "submission_501/data/weights.pt": b"\x80\x02",
    f"submission_502/{NB}": NOTEBOOK,
    "submission_504/hw.py": CODE,
}
BLACKBOARD_RECEIPT = """Name: Jane Doe (j_doe)
Assignment: HW 2
Date Submitted: Wednesday, February 4, 2026 1:30:00 AM PST
"""
PERSONAL = [
    "José Ñandú", "Jane (section 2)", "O'Brien", 'the "best"', "Zoë 😀", "Иван Петров", "王小明", "a b  c",
    "=cmd|' calc'!A0", "con", "x" * 255, "trailing.dots..", "-rf", "new\nline", "mail@uni.example", "100%",
]  # fmt: skip
PERSONAL_IDS = [
    "José-Ñandú", "Jane-section-2", "O-Brien", "the-best", "Zoë", "Иван-Петров", "王小明", "a-b-c",
    "cmd-calc-A0", "_con", "x" * 71 + "-", "trailing.dots", "rf", "new-line", "mail-uni.example", "100",
]  # fmt: skip

CASES = [
    # one piece of work
    Case("one .py file", {PY: CODE}, {"class": [PY]}, form="one submission"),
    Case("one notebook", {NB: NOTEBOOK}, {"class": [NB]}, form="one submission"),
    Case("both forms of the starter", {PY: CODE, NB: NOTEBOOK}, {"class": [NB, PY]}, form="one submission"),
    Case("capital endings", {"Attention.PY": CODE}, {"class": ["Attention.py"]}, form="one submission"),
    Case(
        "a browser's .txt",
        {"attention.py.txt": CODE},
        {"class": [PY]},
        notes={"class": "attention.py.txt was read as "},
    ),
    Case(
        "a work with its own helpers",
        {PY: b"import helpers\n" + CODE, "helpers.py": b"x = 1\n", "tests/test_it.py": b"", "notes.md": "x"},
        {"class": [PY, "helpers.py", "notes.md", "tests/test_it.py"]},
        form="one submission",
    ),
    Case(
        "files of other names, one of which imports the other",
        {"mine.py": b"from tricks import softmax\n" + CODE, "tricks.py": b"softmax = 1\n"},
        {"class": ["mine.py", "tricks.py"]},
        form="one submission",
    ),
    Case(
        "a project's folders", {f"src/{PY}": CODE, "tests/test_a.py": b""}, {"class": [f"src/{PY}", "tests/test_a.py"]}
    ),
    Case(
        "a large class's folder with a starter beside",
        {PY: CODE, "ada/a.py": CODE, "bob/b.py": CODE, "cy/c.py": CODE},
        {"ada": ["a.py"], "bob": ["b.py"], "cy": ["c.py"]},
        explained={PY: "does not say whose it is"},
    ),
    Case(
        "data beside the code",
        {PY: CODE, "model.pt": b"\x80\x02.", "plot.png": b"\x89PNG"},
        {"class": [PY, "model.pt", "plot.png"]},
    ),
    # folders and flat folders
    Case(
        "a folder per student",
        {f"ada/{PY}": CODE, f"bob/{NB}": NOTEBOOK},
        {"ada": [PY], "bob": [NB]},
        form="a folder per",
    ),
    Case("two that differ only in case", {f"ada/{PY}": CODE, f"Ada/{PY}": CODE}, {"Ada": [PY], "ada-2": [PY]}),
    Case(
        "two whose accents are written in two ways",
        {f"Jos\u00e9/{PY}": CODE, f"Jose\u0301/{PY}": CODE},
        {"José": [PY], "José-2": [PY]},
    ),
    Case(
        "names as people have them",
        {f"{name}/{PY}": CODE for name in PERSONAL},
        {name: [PY] for name in PERSONAL_IDS},
        people={"José-Ñandú": ["José Ñandú"]},
    ),
    Case("a name of emoji only", {f"😀/{PY}": CODE, f"bob/{PY}": CODE}, {"student-": [PY], "bob": [PY]}),
    Case("a file name of 255 bytes", {f"ada/{LONG}": CODE, f"bob/{PY}": CODE}, {"ada": [LONG], "bob": [PY]}),
    Case(
        "a deeper folder in a student's folder",
        {f"ada/hw2/{PY}": CODE, f"bob/hw2/final/{PY}": CODE},
        {"ada": [f"hw2/{PY}"], "bob": [f"hw2/final/{PY}"]},
    ),
    Case(
        "a folder per section",
        {f"lab 1/ada/{PY}": CODE, f"lab 1/bob/{PY}": CODE, f"lab 2/cy/{PY}": CODE, f"lab 2/dee/{PY}": CODE},
        {"ada": [PY], "bob": [PY], "cy": [PY], "dee": [PY]},
    ),
    Case(
        "one without code",
        {f"ada/{PY}": CODE, "bob/report.pdf": b"%PDF"},
        {"ada": [PY], "bob": "can't be run. Hand in attention.py or attention.ipynb"},
    ),
    Case("one empty folder", {f"ada/{PY}": CODE, "bob/": b""}, {"ada": [PY], "bob": "Nothing was handed in"}),
    Case(
        "one with a computer's files only",
        {f"ada/{PY}": CODE, "bob/.ipynb_checkpoints/attention-checkpoint.ipynb": NOTEBOOK},
        {"ada": [PY], "bob": "only what a computer makes by itself"},
        junk=["bob/.ipynb_checkpoints/"],
    ),
    Case(
        "junk of all kinds",
        {
            f"ada/{PY}": CODE,
            "ada/.DS_Store": b"x",
            "ada/__pycache__/a.pyc": b"x",
            "ada/.git/config": b"x",
            "ada/._attention.py": b"x",
            "Thumbs.db": b"x",
            f"bob/{PY}": CODE,
            "__MACOSX/ada/._a": b"x",
        },
        {"ada": [PY], "bob": [PY]},
        junk=["ada/.DS_Store", "ada/__pycache__/", "ada/.git/", "ada/._attention.py", "Thumbs.db", "__MACOSX/"],
        ways=("folder", "zip"),
    ),
    Case(
        "links",
        {f"ada/{PY}": CODE, "ada/solution.py": Link("/etc/passwd"), "bob/attention.py": Link("../ada/attention.py")},
        {"ada": [PY], "bob": "attention.py was left out. It is a link"},
        explained={"ada/solution.py": "link", "bob/attention.py": "link"},
        notes={"ada": "solution.py was left out. It is a link", "bob": "attention.py was left out"},
    ),
    Case(
        "files beside the students' folders",
        {f"ada/{PY}": CODE, f"bob/{PY}": CODE, "grades.csv": "id\n", "late bloomer.py": CODE},
        {"ada": [PY], "bob": [PY], "late-bloomer": ["late bloomer.py"]},
        explained={"grades.csv": "beside the submissions"},
    ),
    Case(
        "a file per student",
        {"ada.py": CODE, "bob.ipynb": NOTEBOOK},
        {"ada": ["ada.py"], "bob": ["bob.ipynb"]},
        form="a file per",
    ),
    Case(
        "a file per student, and one of no use",
        {"ada.py": CODE, "bob.py": CODE, "cy.docx": b"PK"},
        {"ada": ["ada.py"], "bob": ["bob.py"]},
        explained={"cy.docx": "ask for the code"},
    ),
    Case(
        "a file per student, one with the asked-for name",
        {PY: CODE, "ada.py": CODE, "bob.py": CODE, "cy.py": CODE},
        {"attention": [PY], "ada": ["ada.py"], "bob": ["bob.py"], "cy": ["cy.py"]},
    ),
    Case(
        "a zip per student",
        {"ada.zip": {PY: CODE}, "bob.zip": {f"hw/{NB}": NOTEBOOK}},
        {"ada": [PY], "bob": [f"hw/{NB}"]},
    ),
    Case(
        "forced to be folders",
        {f"src/{PY}": CODE, f"tests/{PY}": CODE},
        {"src": [PY], "tests": [PY]},
        source="folders",
    ),
    Case("forced to be files", {PY: CODE, NB: NOTEBOOK}, {"attention": [NB], "attention-2": [PY]}, source="files"),
    Case("forced to be one", {f"a/{PY}": CODE, f"b/{PY}": CODE}, {"class": [f"a/{PY}", f"b/{PY}"]}, source="one"),
    # uploads of one student
    upload("a zip", "hw.zip", {PY: CODE}, [PY]),
    upload(
        "a zip with a folder in it",
        "hw.zip",
        {f"hw/{PY}": CODE, "hw/.DS_Store": b"x"},
        [f"hw/{PY}"],
        "Ignored in hw.zip: ",
    ),
    upload("a zip in a zip", "hw.zip", {"inner.zip": {PY: CODE}}, [PY]),
    upload("a zip in a zip in a zip", "hw.zip", {"a.zip": {"b.zip": {PY: CODE}}}, "archive in an archive"),
    upload("a tar", "hw.tar", {PY: CODE, "data/x.txt": "1"}, [PY, "data/x.txt"]),
    upload("a tar.gz", "hw.tar.gz", {f"./{PY}": CODE}, [PY]),
    upload("a tgz with a long name", "hw.tgz", {f"{'d' * 120}/{PY}": CODE}, [f"{'d' * 120}/{PY}"]),
    upload(
        "a tar with links", "hw.tar", {PY: CODE, "x.py": Link("/etc/passwd")}, [PY], "x.py was left out. It is a link"
    ),
    upload(
        "a zip with links", "hw.zip", {PY: CODE, "x.py": Link("/etc/passwd")}, [PY], "x.py was left out. It is a link"
    ),
    upload("a tar that climbs out", "hw.tar", {f"../{PY}": CODE}, "leads outside"),
    upload("a tar with absolute names", "hw.tar", {f"/tmp/{PY}": CODE}, "names a place on one computer"),
    upload("a zip that climbs out", "hw.zip", zip_of(("../../attention.py", CODE)), "leads outside"),
    upload("a zip with absolute names", "hw.zip", zip_of(("/etc/attention.py", CODE)), "names a place on one computer"),
    upload("a zip with a drive", "hw.zip", zip_of(("C:\\me\\attention.py", CODE)), "names a place on one computer"),
    upload("a zip with backslashes", "hw.zip", zip_of(("hw\\attention.py", CODE)), ["hw/attention.py"]),
    upload("a zip that climbs out by backslashes", "hw.zip", zip_of(("..\\..\\attention.py", CODE)), "leads outside"),
    upload("a zip with a zero byte in a name", "hw.zip", zip_of(("attention.py\0.exe", CODE)), "zero byte"),
    upload("a zip with a name twice", "hw.zip", zip_of((PY, CODE), (PY, CODE)), "two files named attention.py"),
    upload(
        "a zip with two cases of a name",
        "hw.zip",
        zip_of((PY, CODE), ("Attention.py", CODE)),
        "both Attention.py and attention.py",
    ),
    Case(
        "data whose names differ only in case",
        {f"ada/{PY}": CODE, "ada/w/a": b"1", "ada/w/A": b"2", "ada/W": b"3", f"bob/{PY}": CODE},
        {"ada": ["W", PY, "w/A", "w/a"], "bob": [PY]},
        notes={"ada": "w/A and w/a were both read; many computers can't tell these names apart."},
    ),
    upload("a zip of data that differs only in case", "hw.zip", {PY: CODE, "a": "1", "A": "2"}, ["A", "a", PY]),
    upload(
        "a zip with data twice",
        "hw.zip",
        zip_of((PY, CODE), ("a.csv", b"1"), ("a.csv", b"2")),
        "two files named a.csv",
    ),
    upload(
        "a zip with two ways of writing an accent",
        "hw.zip",
        zip_of(("caf\u00e9.py", CODE), ("cafe\u0301.py", CODE)),
        "two files named café.py",
    ),
    upload(
        "a zip with a name that is a file and a folder",
        "hw.zip",
        zip_of(("a.py", CODE), ("a.py/b.py", CODE)),
        "at once",
    ),
    upload("a zip with a password", "hw.zip", locked({PY: CODE}), "protected by a password"),
    upload("a zip packed by a rare method", "hw.zip", method({PY: CODE}, 9), "can't be read here"),
    upload("a zip of overlapping files", "hw.zip", overlapping(), "shares its place"),
    upload("a zip bomb", "hw.zip", {"attention.py": b"\0" * (8 << 20)}, "more than 200 times"),
    upload("a gzip bomb", "hw.tar.gz", {"a.txt": b"\0" * (1 << 20), PY: CODE}, [PY, "a.txt"]),
    upload("a zip cut short", "hw.zip", zipped({PY: CODE})[:-30], "incomplete or damaged"),
    upload("a zip with a changed byte", "hw.zip", spoiled({PY: CODE}), "is damaged and can't be read to its end"),
    upload("a tar cut short", "hw.tar", tarred({PY: CODE})[:700], "ends too early"),
    upload("a text called .zip", "hw.zip", b"my homework", "not a zip"),
    upload("a text called .tar.gz", "hw.tar.gz", b"my homework", "not a tar archive, although"),
    upload("nothing, called .zip", "hw.zip", b"", "is empty"),
    upload("a RAR called .zip", "hw.zip", b"Rar!\x1a\x07\x00", "is a RAR archive"),
    upload("a RAR", "hw.rar", b"Rar!\x1a\x07\x00", "pack it as an ordinary .zip"),
    upload("an empty zip", "hw.zip", {}, "holds nothing"),
    upload("a zip of junk", "hw.zip", {"__MACOSX/._a": b"x"}, "only files that a computer made"),
    upload("a zip without code", "hw.zip", {"report.pdf": b"%PDF"}, "can't be run"),
    upload("a zip from a Mac", "hw.zip", without_utf8_flag({"José.py": CODE}), ["José.py"]),
    upload("a zip beside a file", "data.zip", {"x.csv": "1"}, "only x.csv"),
    Case(
        "a zip beside what was packed in it",
        {f"ada/{PY}": CODE, "ada/hw.zip": {f"hw/{PY}": CODE}, f"bob/{PY}": CODE},
        {"ada": [PY], "bob": [PY]},
        notes={"ada": "hw.zip holds the same files as those beside it"},
    ),
    Case(
        "a zip beside one of two files that were packed in it",
        {f"ada/{PY}": CODE, "ada/hw.zip": {PY: CODE, "more.py": b"x = 1"}, f"bob/{PY}": CODE},
        {"ada": [PY, f"hw.zip/{PY}", "hw.zip/more.py"], "bob": [PY]},
    ),
    Case(
        "a .txt beside the code",
        {f"ada/{PY}": CODE, f"ada/{PY}.txt": CODE, f"bob/{PY}": CODE},
        {"ada": [PY, f"{PY}.txt"], "bob": [PY]},
    ),
    upload("a zip called .py", PY, zipped({PY: CODE}), "is really a zip archive"),
    upload("a tar.gz called .zip", "hw.zip", tarred({PY: CODE}, "gz"), [PY]),
    upload("a tar without code", "hw.tar", {"a.csv": "1"}, "only a.csv"),
    upload("a tar with a zip in it", "hw.tar", {"inner.zip": {PY: CODE}}, [f"inner.zip/{PY}"]),
    upload("a tar with junk", "hw.tar", {PY: CODE, "__pycache__/x.pyc": b"x"}, [PY], "Ignored in hw.tar: __pycache__"),
    upload("a tar with a device", "hw.tar", device(), [PY], "null was left out. It is not a regular file"),
    upload(
        "a zip with a device",
        "hw.zip",
        zip_of((PY, CODE), kinds={PY: stat.S_IFCHR}),
        "attention.py was left out. It is not a regular file",
    ),
    Case(
        "code beside an archive and data that can't be read",
        {f"ada/{PY}": CODE, "ada/old.zip": b"PK\3\4", "ada/x.tar": tarred({"../x.py": CODE}), f"bob/{PY}": CODE},
        {"ada": [PY], "bob": [PY]},
        notes={"ada": "old.zip was left out. old.zip is incomplete"},
    ),
    upload("code packed beside a broken zip", "hw.zip", {PY: CODE, "a.zip": b"x"}, [PY], "a.zip was left out"),
    Case(
        "two uploads, one packed",
        {f"ada/{PY}": CODE, "ada/data.zip": {"x.csv": "1"}, f"bob/{PY}": CODE},
        {"ada": [PY, "data.zip/x.csv"], "bob": [PY]},
    ),
    upload("sixty files", "hw.zip", {f"{number}.py": CODE for number in range(60)}, "more than 50 files"),
    upload("a file that is too large", PY, random.Random(0).randbytes(3 << 20), "at most 2 MB are read. To mend it"),
    Case(
        "data that is too large",
        {f"ada/{PY}": CODE, "ada/weights.pt": b"x" * (3 << 20), f"bob/{PY}": CODE},
        {"ada": [PY], "bob": [PY]},
        notes={"ada": "weights.pt has 3 MB; at most 2 MB are read, so it was left out"},
    ),
    # learning systems
    Case(
        "Gradescope",
        GRADESCOPE,
        {
            "00123": [PY, "data/weights.pt"],
            "bo_jose": [NB],
            "cy": "did not come with the download",
            "submission_504": ["hw.py"],
        },
        form="Gradescope",
        explained={"submission_metadata.yml": "not graded"},
        notes={"00123": "1 earlier: 490", "submission_504": "does not say whose"},
        people={"bo_jose": ["José Ñandú", "Bo B"], "00123": ["Ada L"]},
        times={"00123": "2026-02-04T09:30:00.250000+00:00", "bo_jose": "2026-02-04T01:30:00-08:00"},
    ),
    Case(
        "Canvas",
        {
            "doejane_12345_987_attention.py": CODE,
            "lovelaceada_LATE_12346_990_attention-1.ipynb": NOTEBOOK,
            "lovelaceada_LATE_12346_991_my notes_2_3.txt": "x",
            "brownbob_12347_text.html": "<p>x",
            "cyc_12348_link.html": "<a>",
            "syllabus.pdf": b"%PDF",
        },
        {
            "doejane_12345": [PY],
            "lovelaceada_12346": [NB, "my notes_2_3.txt"],
            "brownbob_12347": "typed into the box",
            "cyc_12348": "link was handed in",
        },
        form="Canvas",
        explained={"syllabus.pdf": "not one that Canvas gives"},
        notes={"lovelaceada_12346": "late"},
        people={"doejane_12345": ["doejane"]},
    ),
    Case(
        "Canvas, anonymous",
        {"anon_aB3x9_77_attention.py": CODE, "LATE_anon_Zz1_78_attention.py": CODE},
        {"anonymous-aB3x9": [PY], "anonymous-Zz1": [PY]},
        form="Canvas",
        notes={"anonymous-Zz1": "late"},
    ),
    Case(
        "Canvas, a group and an accent",
        {"team_nine_12345_987_attention.py": CODE, "ñandújosé_12346_988_attention.py": CODE},
        {"team_nine_12345": [PY], "ñandújosé_12346": [PY]},
        form="Canvas",
    ),
    Case(
        "Canvas, a student whose name looks like another's number",
        {f"{who}_{user}_9_attention.py": CODE for who, user in zip("abcdefg", range(11, 18), strict=True)}
        | {"zed_11_12_99_7_attention.py": CODE},
        {f"{who}_{user}": [PY] for who, user in zip("abcdefg", range(11, 18), strict=True)}
        | {"zed_11": ["99_7_attention.py"]},
        form="Canvas",
    ),
    Case(
        "names with a year, which are no Canvas users",
        {"ada_2026_02_hw.py": CODE, "bob_2026_02_hw.py": CODE},
        {"ada_2026_02_hw": ["ada_2026_02_hw.py"], "bob_2026_02_hw": ["bob_2026_02_hw.py"]},
        form="a file per",
    ),
    Case(
        "Canvas, uploads that are zips",
        {"doejane_1_2_hw.zip": {PY: CODE}, "roebob_3_4_hw.zip": b"broken"},
        {"doejane_1": [PY], "roebob_3": "not a zip"},
        form="Canvas",
    ),
    Case(
        "Moodle in folders",
        {
            f"Jane Doe_4711_assignsubmission_file/{PY}": CODE,
            "Jane Doe_4711_assignsubmission_onlinetext/onlinetext.html": "<p>",
            f"José Ñandú_4712_assignsubmission_file_/sub/{NB}": NOTEBOOK,
            "Bob Roe_4713_assignsubmission_onlinetext/onlinetext.html": "<p>",
        },
        {
            "Jane-Doe_4711": [PY, "onlinetext/onlinetext.html"],
            "José-Ñandú_4712": [f"sub/{NB}"],
            "Bob-Roe_4713": "typed into the box",
        },
        form="Moodle",
        people={"Jane-Doe_4711": ["Jane Doe"]},
    ),
    Case(
        "Moodle, flat and anonymous",
        {
            "Participant_81_assignsubmission_file_attention.py": CODE,
            "Participant_82_assignsubmission_file_hw.zip": {PY: CODE},
            "readme.txt": "x",
        },
        {"Participant_81": [PY], "Participant_82": [PY]},
        form="Moodle",
        explained={"readme.txt": "not one that Moodle gives"},
        people={"Participant_81": ["81"]},
    ),
    Case(
        "Blackboard, several attempts",
        {
            "HW 2_j_doe_attempt_2026-02-03-10-00-00.txt": BLACKBOARD_RECEIPT,
            "HW 2_j_doe_attempt_2026-02-03-10-00-00_old.py": CODE,
            "HW 2_j_doe_attempt_2026-02-04-10-00-00.txt": BLACKBOARD_RECEIPT,
            "HW 2_j_doe_attempt_2026-02-04-10-00-00_attention.py": CODE,
            "HW 2_roeb_attempt_2026-02-04-09-00-00.txt": "Nom: Bob Roe (roeb)\n",
        },
        {"j_doe": [PY], "roeb": "has text only"},
        form="Blackboard",
        explained={
            "HW 2_j_doe_attempt_2026-02-03-10-00-00_old.py": "earlier attempt",
            "HW 2_j_doe_attempt_2026-02-04-10-00-00.txt": "receipt",
        },
        notes={"j_doe": "The latest of 2 attempts"},
        people={"j_doe": ["Jane Doe"]},
    ),
    Case(
        "Blackboard, a file that looks like another's attempt",
        {
            "HW_ada_attempt_2026-02-04-10-00-00_x_bob_attempt_2026-02-05-10-00-00_a.py": CODE,
            "HW_bob_attempt_2026-02-04-10-00-00_a.py": CODE,
        },
        {"ada": ["x_bob_attempt_2026-02-05-10-00-00_a.py"], "bob": ["a.py"]},
        form="Blackboard",
    ),
    Case(
        "Blackboard without receipts",
        {
            "HW_x_1_attempt_2026-02-04-10-00-00_a.py": CODE,
            "HW_roe_attempt_2026-02-04-10-00-00_a.py": CODE,
        },
        {"x_1": ["a.py"], "roe": ["a.py"]},
        form="Blackboard",
    ),
    Case(
        "Brightspace",
        {
            f"27001-46001 - jdoe Jane Doe - Jul 30, 2026 1053 PM/{PY}": CODE,
            f"27001-46001 - jdoe Jane Doe - Jul 30, 2026 905 PM/{PY}": CODE,
            "27002-46001 - Bob Roe - 30 July 2026 105 PM/hw.pdf": b"%PDF",
            "index.html": "<p>",
        },
        {"jdoe": [PY], "Bob-Roe": "can't be run"},
        form="Brightspace",
        explained={
            "index.html": "overview",
            f"27001-46001 - jdoe Jane Doe - Jul 30, 2026 905 PM/{PY}": "Jul 30, 2026 1053 PM",
        },
        times={"jdoe": "2026-07-30T22:53:00-08:00"},
        people={"jdoe": ["Jane Doe"]},
    ),
    Case(
        "Brightspace, flat",
        {
            "1-2 - Jane Doe - 4 February 2026 1205 AM - attention.py": CODE,
            "3-2 - Bo - 4 February 2026 930 AM - b.py": CODE,
        },
        {"Jane-Doe": [PY], "Bo": ["b.py"]},
        form="Brightspace",
        times={"Jane-Doe": "2026-02-04T00:05:00-08:00"},
    ),
    Case(
        "GitHub Classroom",
        {
            f"hw2-submissions/hw2-octo-cat/{PY}": CODE,
            "hw2-submissions/hw2-octo-cat/.git/HEAD": "x",
            "hw2-submissions/hw2-octo-cat/README.md": "x",
            f"hw2-submissions/hw2-team-9/{NB}": NOTEBOOK,
        },
        {"octo-cat": ["README.md", PY], "team-9": [NB]},
        form="GitHub",
        junk=["hw2-submissions/hw2-octo-cat/.git/"],
    ),
    Case(
        "clones beside each other",
        {f"hw2-a/{PY}": CODE, "hw2-a/.git/HEAD": "x", f"hw2-b/{PY}": CODE, "hw2-b/.git/HEAD": "x"},
        {"a": [PY], "b": [PY]},
        form="GitHub",
        junk=["hw2-a/.git/", "hw2-b/.git/"],
    ),
    Case(
        "nbgrader's course",
        {
            f"submitted/ada/ps1/{NB}": NOTEBOOK,
            "submitted/ada/ps1/timestamp.txt": "2026-02-04 09:30:00.250000 UTC",
            f"submitted/bob/ps1/{NB}": NOTEBOOK,
            "submitted/bob/ps2/other.ipynb": NOTEBOOK,
            f"source/ps1/{NB}": NOTEBOOK,
            "gradebook.db": b"SQLite",
        },
        {"ada": [NB], "bob": [NB]},
        form="nbgrader",
        explained={
            "submitted/ada/ps1/timestamp.txt": "nbgrader's",
            "submitted/bob/ps2/other.ipynb": "another assignment",
            f"source/ps1/{NB}": "beside",
            "gradebook.db": "beside",
        },
        times={"ada": "2026-02-04T09:30:00.250000+00:00"},
    ),
    Case(
        "nbgrader's exchange",
        {
            f"a+b+ps1+2026-02-04 09:30:00.250000 UTC+x9/{NB}": NOTEBOOK,
            f"a+b+ps1+2026-02-05 09:30:00.250000 UTC+y8/{NB}": NOTEBOOK,
            "a+b+ps1+2026-02-05 09:30:00.250000 UTC+y8/submission_secret.txt": "s",
            f"bob+ps1+2026-02-04 09:30:00.000000 UTC/{NB}": NOTEBOOK,
        },
        {"a-b": [NB], "bob": [NB]},
        form="nbgrader",
        explained={f"a+b+ps1+2026-02-04 09:30:00.250000 UTC+x9/{NB}": "earlier attempt"},
        times={"a-b": "2026-02-05T09:30:00.250000+00:00"},
    ),
    # rosters
    Case(
        "Canvas with a roster",
        {"doejane_12345_987_attention.py": CODE, "delrioana_12346_9_attention.py": CODE, "who_7_9_a.py": CODE},
        {"u1": [PY], "u2": [PY], "who_7": ["a.py"], "u3": "Nothing was handed in"},
        roster="\ufeffID;Name;E-Mail;Section\nu1;Jane Doe;jane@uni.example;A\nu2;Ana del Río;;B\nu3;Bo 7;;B\n",
        notes={"who_7": "not on the roster"},
        people={"u1": ["Jane Doe"], "u2": ["Ana del Río"]},
    ),
    Case(
        "a gradebook and staff as a roster",
        {f"ada/{PY}": CODE, f"bob/{PY}": CODE},
        {"ada": [PY], "bob": [PY]},
        roster="Student,ID,Section,Role\n    Points Possible,,,\nAda,ada,1,Student\nTea,t,1,TA\nBob,bob,1,Student\n",
    ),
    Case(
        "files with a roster",
        {PY: CODE, "hw2_u1_final.py": CODE, "Doe, Jane - attention.py": CODE},
        {"u1": ["hw2_u1_final.py"], "u2": ["Doe, Jane - attention.py"], "attention": [PY]},
        roster="First Name,Last Name,SID\nBo,Roe,u1\nJane,Doe,u2\n",
    ),
    Case(
        "GitHub users with a roster",
        {f"hw-submissions/hw-octocat/{PY}": CODE, f"hw-submissions/hw-x/{PY}": CODE},
        {"u1": [PY], "x": [PY]},
        roster="name,github user,id\nJane Doe,OctoCat,u1\n",
    ),
    Case(
        "a group with a roster",
        GRADESCOPE,
        {
            "u7_u8": [NB],
            "u9": [PY, "data/weights.pt"],
            "cy": "did not come with the download",
            "submission_504": ["hw.py"],
        },
        roster="id,name,email\nu7,J Ñ,JOSE@uni.example\nu8,Bo B,bo@uni.example\nu9,Ada,ada@uni.example\n",
        people={"u7_u8": ["J Ñ", "Bo B"]},
    ),
]
assert len({case.title for case in CASES}) == len(CASES)
assert unicodedata.is_normalized("NFC", "é")
