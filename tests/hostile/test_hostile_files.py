"""25, 55 to 61. Archives, links, notebooks and pickles that were built to hurt whoever opens them."""

from __future__ import annotations

import io
import json
import os
import pickle
import resource
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from grader import arena, intake
from grader.assignment import Limits, Settings
from grader.entry import Entry
from grader.errors import IntakeError
from grader.reading import source
from grader.sandbox.zygote import Zygote
from grader.submission import SourceFile, Submission
from tests.handed_in import CODE, Link, Tree, device, overlapping, tarred, unfold, zip_of, zipped

SETTINGS = Settings(
    title="Attention",
    entry=Entry(function="scaled_dot_product_attention", arguments=["Q", "K", "V"], returns=["output", "weights"]),
    files=["attention.py", "attention.ipynb"],
    limits=Limits(files=50, file_mb=2),
)
PY = "attention.py"


def taken_in(path: Path) -> dict[str, Submission]:
    """Every submission that intake reads from a path."""
    with intake.scan([path], SETTINGS) as found:
        return {entry.id: found.read(entry) for entry in found.entries}


def beside_bob(place: Path, upload: Tree) -> Submission:
    """What becomes of ada's upload; bob's honest one must not be hurt by it."""
    submissions = taken_in(
        unfold({**{f"ada/{name}": value for name, value in upload.items()}, f"bob/{PY}": CODE}, place)
    )
    assert [file.data for file in submissions["bob"].files] == [CODE]
    ada = submissions["ada"]
    for file in ada.files:
        path = PurePosixPath(file.path)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert "\\" not in file.path
        assert len(file.data) <= SETTINGS.limits.file_mb << 20
    assert len(ada.files) <= SETTINGS.limits.files
    return ada


def everything(submission: Submission) -> str:
    return repr((submission.files, submission.problem, submission.notes))


def tar_of(*members: tarfile.TarInfo) -> bytes:
    """A tar of members without contents, and an honest file."""
    data = io.BytesIO(tarred({PY: CODE}))
    with tarfile.open(fileobj=data, mode="a") as archive:
        for member in members:
            archive.addfile(member)
    return data.getvalue()


def member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


LINKS: dict[str, Callable[[str], Tree]] = {
    "file": lambda secret: {PY: Link(secret)},
    "folder": lambda secret: {PY: CODE, "data": Link(str(Path(secret).parent))},
    "to a link": lambda secret: {"a.py": Link(secret), PY: Link("a.py")},
    "up": lambda secret: {PY: Link("../" * 20 + secret.lstrip("/"))},
    "in a zip": lambda secret: {"work.zip": {PY: CODE, "helper.py": Link(secret)}},
    "in a tar": lambda secret: {"work.tar": {PY: CODE, "helper.py": Link(secret)}},
}


@pytest.mark.parametrize("name", LINKS)
def test_links_lead_nowhere(name: str, world: arena.World, tmp_path: Path) -> None:
    """25, 56. A link in what was handed in is never followed: what it points to can't be echoed back."""
    ada = beside_bob(tmp_path / "class", LINKS[name](world.described()["secret"]))
    assert world.secret not in everything(ada)
    assert ada.problem or ada.notes or [file.path for file in ada.files] == [PY]


SLIPS = [
    "../../slip.py",
    "/tmp/slip.py",
    "C:\\slip.py",
    "..\\..\\slip.py",
    "a/../../slip.py",
    "\\\\host\\slip.py",
    "..",
    "a\0b.py",
]


@pytest.mark.parametrize("name", SLIPS)
@pytest.mark.parametrize("pack", [zipped, tarred], ids=["zip", "tar"])
def test_names_that_climb_out(name: str, pack: Callable[[Tree], bytes], tmp_path: Path) -> None:
    """55. A member whose name leads out of its archive is written nowhere and keeps no such name."""
    try:
        data = pack({PY: CODE, name: b"slipped = 1\n"})
    except ValueError:
        pytest.skip("this form can't hold such a name")
    before = set(os.listdir("/tmp"))  # noqa: PTH208
    ada = beside_bob(tmp_path / "class", {f"work.{pack.__name__[:3]}": data})
    assert not [name for name in set(os.listdir("/tmp")) - before if "slip" in name]  # noqa: PTH208
    assert not list(tmp_path.rglob("*slip*"))
    assert ada.problem or PY in [file.path for file in ada.files]


def long_link_chain() -> bytes:
    """A tar as in CVE-2025-4517: names so long that the resolved path is cut, then a link that climbs out of it."""
    folder = "d" * 247
    steps = [member("/".join([folder] * depth), tarfile.DIRTYPE) for depth in range(1, 16)]
    escape = member("/".join(["a"] * 16 + ["l" * 254]), tarfile.SYMTYPE, "../" * 16)
    return tar_of(*steps, escape, member("escape", tarfile.SYMTYPE, "l" * 254 + "/../../../../etc"))


SPECIAL = {
    "symbolic link": lambda: tar_of(member("helper.py", tarfile.SYMTYPE, "/etc/passwd")),
    "hard link": lambda: tar_of(member("helper.py", tarfile.LNKTYPE, "/etc/passwd")),
    "device": device,
    "named pipe": lambda: tar_of(member("helper.py", tarfile.FIFOTYPE)),
    "long link chain": long_link_chain,
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_members(name: str, tmp_path: Path) -> None:
    """56. Only regular files come out of an archive: no link, no device, no pipe."""
    ada = beside_bob(tmp_path / "class", {"work.tar": SPECIAL[name]()})
    assert "root:" not in everything(ada)
    assert ada.problem or [file.path for file in ada.files] == [PY]


def test_named_pipe_in_a_folder(tmp_path: Path) -> None:
    """56. A pipe among the files of a folder would stop whoever opens it; it is not opened."""
    root = unfold({f"ada/{PY}": CODE, f"bob/{PY}": CODE}, tmp_path / "class")
    os.mkfifo(root / "ada" / "helper.py")
    ada = taken_in(root)["ada"]
    assert [file.path for file in ada.files] == [PY]


def repeated(count: int) -> bytes:
    """A zip with many empty members."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number}.py", b"")
    return data.getvalue()


def zeros(megabytes: int, name: str = PY) -> bytes:
    """A small zip of a large file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w", force_zip64=True) as file:
        for _ in range(megabytes):
            file.write(bytes(1 << 20))
    return data.getvalue()


BOMBS: dict[str, Callable[[], Tree]] = {
    "large file": lambda: {"work.zip": zeros(300)},
    "large file in a zip in a zip": lambda: {"work.zip": {"more.zip": zeros(300), PY: CODE}},
    "members that overlap": lambda: {"work.zip": overlapping()},
    "very many members": lambda: {"work.zip": repeated(20000)},
    "zip in itself many times": lambda: {"work.zip": zip_of(*((f"{n}.zip", zeros(2, f"{n}.py")) for n in range(60)))},
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str, tmp_path: Path) -> None:
    """57. An archive that unpacks to far more than it is costs little memory and ends in words, not in a full disk."""
    upload = BOMBS[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ada = beside_bob(tmp_path / "class", upload)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 150 << 10  # kilobytes
    assert ada.problem or ada.notes or [file.path for file in ada.files] == [PY]
    assert sum(len(file.data) for file in ada.files) <= SETTINGS.limits.files * SETTINGS.limits.file_mb << 20


CLASHES = {
    "same name": zip_of((PY, CODE), (PY, CODE + b"# other\n")),
    "other case": zip_of((PY, CODE), ("Attention.py", CODE + b"# other\n")),
    "other Unicode form": zip_of(("é.py", CODE), ("é.py", CODE + b"# other\n"), (PY, CODE)),
    "file and folder": zip_of(("attention.py", CODE), ("attention.py/x.py", CODE)),
}


@pytest.mark.parametrize("name", CLASHES)
def test_names_that_collide(name: str, tmp_path: Path) -> None:
    """58. Two members that would be one file on some computers: never silently one or the other."""
    ada = beside_bob(tmp_path / "class", {"work.zip": CLASHES[name]})
    assert ada.problem or ada.notes or len({file.path for file in ada.files}) == len(ada.files) > 1


class Bomb:
    """A pickle that runs a program when it is loaded."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (self.command,)


def test_pickles_are_never_opened(root: Zygote, world: arena.World, tmp_path: Path) -> None:
    """59. A handed-in .pt file runs nothing when it is taken in, and nothing when the student's own code loads it."""
    payload = pickle.dumps(Bomb(f"touch /tmp/{world.word}-pickle"))
    ada = beside_bob(tmp_path / "class", {PY: CODE, "model.pt": payload, "data.pkl": payload})
    assert not world.disturbed()
    assert ada.files
    code = """
import pickle, torch

def attack(world):
    got = []
    for load in (torch.load, lambda p: torch.load(p, weights_only=False), lambda p: pickle.load(open(p, "rb"))):
        try:
            got.append(load("model.pt"))
        except Exception:
            got.append(-1)
    return got
"""
    session = arena.open_source(root, code, files={"model.pt": payload})
    call = session.call((world.described(),), {})
    session.close()
    assert call.failure is None, call.failure
    assert 0 not in call.output  # the status of a program that ran well
    assert not world.disturbed()


def notebook(cells: list[dict[str, object]], **metadata: object) -> bytes:
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def test_notebooks_are_only_their_code(root: Zygote, world: arena.World) -> None:
    """60. Metadata, saved outputs, kernels, magics and shell lines of a notebook run nothing and steer nothing."""
    mark = f"/tmp/{world.word}-notebook"
    run = f"open({mark!r}, 'w')"
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "metadata": {}, "source": f"```python\n{run}\n```"},
        {"cell_type": "raw", "metadata": {"format": "python"}, "source": run},
        {
            "cell_type": "code",
            "metadata": {"tags": ["hide"], "exec": run, "jupyter": {"source_hidden": True}},
            "execution_count": None,
            "outputs": [
                {"output_type": "display_data", "data": {"text/html": "<script>x</script>", "text/python": run}}
            ],
            "source": [f"!touch {mark}\n", f"%run {mark}\n", f"%%bash\ntouch {mark}\n"],
        },
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": f"%%writefile {mark}\nx = 1\n"},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": "%%writefile ../../conftest.py\nx = 1\n"},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": f"get_ipython().system('touch {mark}')"},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": "def attack(world):\n    return 'honest'\n"},
    ]
    data = notebook(cells, kernelspec={"argv": ["touch", mark], "name": "x"}, grader={"score": 100}, exec=run)
    settings = arena.settings()
    sources = source.units([SourceFile("work.ipynb", data)], settings)
    assert not sources.problem
    text = "\n".join(unit.source for unit in sources.units)
    assert "hide" not in text
    assert "script" not in text
    session = arena.open_sources(root, sources)
    call = session.call((world.described(),), {})
    session.close()
    assert call.output == "honest", call.failure
    assert not world.disturbed()


DEEP = 100_000
MONSTERS = {
    "deep lists": b'{"cells": ' + b"[" * DEEP + b"]" * DEEP + b', "nbformat": 4}',
    "deep objects": b'{"cells": [], "metadata": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b', "nbformat": 4}',
    "huge number": b'{"cells": [], "metadata": {}, "nbformat": ' + b"9" * 100_000 + b"}",
    "infinite number": b'{"cells": [], "metadata": {"a": 1e999}, "nbformat": 4, "nbformat_minor": NaN}',
    "cells that are none": b'{"cells": [1, null, "x", {"cell_type": 5}, {"source": {}}, []], "nbformat": 4}',
    "many cells": notebook([{"cell_type": "code", "source": "x=1"}] * 20000),
    "same key twice": b'{"cells": [], "cells": 5, "nbformat": 4, "nbformat": "x"}',
    "wrong top": b"[[[]]]",
    "lone surrogate": b'{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}], "nbformat": 4}',
    "cut off": notebook([{"cell_type": "code", "source": "def attack(world):"}])[:-20],
}


@pytest.mark.parametrize("name", MONSTERS)
def test_monstrous_notebooks(name: str, root: Zygote) -> None:
    """61. JSON that is too deep, too large or of the wrong form ends in words for the student, never in an error."""
    sources = source.units([SourceFile("work.ipynb", MONSTERS[name])], arena.settings())
    if sources.problem is None:
        session = arena.open_sources(root, sources)
        session.close()
        assert session.loaded.entry is None
        assert all(problem.kind != "malformed" for problem in session.loaded.problems)
    else:
        assert sources.problem.message.endswith((".", ")"))


def test_nothing_at_all(tmp_path: Path) -> None:
    """57. A download that is no archive although its name says so is explained."""
    path = tmp_path / "class.zip"
    path.write_bytes(b"PK\3\4" + bytes(1000))
    with pytest.raises(IntakeError, match=r"class\.zip"):
        taken_in(path)
