"""Whatever arrives, intake ends with rows and reasons, never with a fault, and no file is lost or counted twice."""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.errors import IntakeError
from grader.intake import Intake, scan
from grader.intake.junk import junk_within
from grader.intake.names import RefusedName, parts
from grader.intake.tars import members
from tests.handed_in import CODE, Tree, tarred, zip_of, zipped
from tests.test_intake import SETTINGS

QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PIECES = [
    "ada", "Ada", "Jose\u0301", "Jos\u00e9", "attention.py", "attention.ipynb", "Attention.py", "hw.zip", "hw.tar.gz",
    "x.pdf", "submitted", "ps1", "hw2-submissions", "hw2-ada", ".git", ".DS_Store", "__MACOSX",
    "submission_metadata.yml",
    "doejane_1_2_attention.py", "doejane_LATE_3_text.html", "anon_a1_2_x.py", "Jane_4_assignsubmission_file",
    "Bo_5_assignsubmission_file_a.py", "HW_bo_attempt_2026-02-03-10-00-00_a.py",
    "HW_bo_attempt_2026-02-03-10-00-00.txt", "1-2 - Bo Roe - Jul 30, 2026 1053 PM",
    "bo+ps1+2026-02-04 09:30:00.250000 UTC", "timestamp.txt", "src", "=1+1", "😀",
]  # fmt: skip
NAMES = st.one_of(
    st.sampled_from(PIECES),
    st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=12),
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
WILD_PATHS = st.one_of(
    PATHS, st.lists(st.sampled_from(["..", "", ".", "C:", "a\\b", "x.py"]), max_size=4).map("/".join)
)
BODIES = st.sampled_from(
    [CODE, b"", b"PK\3\4", b"submission_1:\n  :submitters: 3\n", zipped({"a.py": CODE}), b"\x1f\x8b\x08"]
)


@QUICK
@given(
    st.lists(st.tuples(WILD_PATHS, BODIES), min_size=1, max_size=8),
    st.sampled_from(["auto", "canvas", "folders", "one"]),
)
def test_every_member_of_a_zip_has_one_fate(files: list[tuple[str, bytes]], source: str) -> None:
    """Each file in a zip of any names is part of one submission, or explained, or junk."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "class.zip"
        path.write_bytes(zip_of(*files))
        intake = _scanned(path, source)
        if intake is None:
            return
        with intake:
            items = [file.item for entry in intake.entries for file in entry.files]
            assert len({id(item) for item in items}) == len(items)
            assert len(items) + len(intake.explained) == sum(not _skipped(name) for name, _ in files)
            _check_rows(intake)


@QUICK
@given(st.lists(st.tuples(PATHS, BODIES), min_size=1, max_size=8))
def test_every_file_of_a_folder_has_one_fate(files: list[tuple[str, bytes]]) -> None:
    """Each file in a folder of any names is part of one submission, or explained, or junk."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "class"
        root.mkdir()
        for name, body in files:
            _write(root / name, body)
        intake = _scanned(root)
        if intake is None:
            return
        with intake:
            found = [path.relative_to(root).parts for path in root.rglob("*") if path.is_file()]
            kept = [file.item for entry in intake.entries for file in entry.files]
            if ".zip:" not in intake.understood[0]:  # else the folder held one zip, and was looked into
                assert len(kept) + len(intake.explained) == sum(junk_within(names) == 0 for names in found)
            _check_rows(intake)


@QUICK
@given(st.data())
def test_a_changed_archive_is_never_a_fault(data: st.DataObject) -> None:
    """An archive with any bytes changed, cut or added gives a submission or a problem in words."""
    tree: Tree = {"hw/attention.py": CODE, "hw/b.txt": "x" * 600, "é.py": CODE}
    name, body = data.draw(
        st.sampled_from([("hw.zip", zipped(tree)), ("hw.tar", tarred(tree)), ("hw.tar.gz", tarred(tree, "gz"))])
    )
    changed = bytearray(body)
    for _ in range(data.draw(st.integers(1, 6))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    changed = changed[: data.draw(st.sampled_from([len(changed), len(changed) // 2, 40]))]
    with tempfile.TemporaryDirectory() as place:
        _write(Path(place) / "class/ada" / name, bytes(changed))
        _write(Path(place) / "class/bob/attention.py", CODE)
        with scan([Path(place) / "class"], SETTINGS) as intake:
            assert [entry.id for entry in intake.entries] == ["ada", "bob"]
            _check_rows(intake)
        _write(Path(place) / name, bytes(changed))
        alone = _scanned(Path(place) / name)
        if alone is not None:
            with alone:
                _check_rows(alone)


@QUICK
@given(
    st.dictionaries(PATHS.filter(lambda path: len(path) < 200), st.binary(max_size=1500), max_size=5),
    st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
    st.booleans(),
)
def test_tars_are_read_as_the_standard_library_writes_them(
    files: dict[str, bytes], form: int, packed_again: bool
) -> None:
    """Our small reader of tars finds the same names and contents that were packed, in each dialect."""
    data = io.BytesIO()
    packed: list[tuple[str, bytes]] = []
    with tarfile.open(fileobj=data, mode="w", format=form) as archive:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            try:
                archive.addfile(info, io.BytesIO(body))
            except ValueError:
                continue  # a name that USTAR can't hold
            packed.append((name, body))
    body = gzip.compress(data.getvalue()) if packed_again else data.getvalue()
    read = [(member.name, member.contents.read(1 << 20)) for member in members(body, 1 << 24, "hw.tar")]
    assert read == packed


def _scanned(path: Path, source: str = "auto") -> Intake | None:
    """What was found, or None when nothing could be a submission: the one error that is allowed."""
    try:
        return scan([path], SETTINGS, source=source)
    except IntakeError:
        return None


def _check_rows(intake: Intake) -> None:
    ids = [entry.id.casefold() for entry in intake.entries]
    assert len(set(ids)) == len(ids)
    for entry in intake.entries:
        read = intake.read(entry)
        assert bool(read.problem) != bool(read.files)
        assert len(read.digest) == 64


def _skipped(name: str) -> bool:
    """Whether a zip's member is a folder, or junk."""
    try:
        names = parts(name)
    except RefusedName:
        return False
    return name.endswith(("/", "\\")) or junk_within(names) > 0


def _write(path: Path, body: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    except OSError:
        return  # a name that this file system can't hold, or one that is a folder already
