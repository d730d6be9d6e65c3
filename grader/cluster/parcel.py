"""What travels between the command and the machines of a cluster: plain msgpack, nothing that runs when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from grader.assignment import Assignment, Settings
from grader.errors import GraderFault, UsageError
from grader.pages.words import BUILT_IN
from grader.results import Struct
from grader.rules.policy import Policy

MOST_MB = 256
_LEFT_OUT = {"__pycache__", "sample_class", ".ipynb_checkpoints"}

Device = Literal["emulated", "cpu", "gpu"]
"""Unlike at home there is no "auto": all machines of a run use the same."""


class Terms(Struct, frozen=True):
    """What a host must know before its zygote splits off. Nothing here is secret."""

    name: str
    settings: Settings
    device: Device
    floor: str
    """Refuse to grade below this sandbox level."""


class File(Struct, frozen=True):
    path: str
    """Relative, POSIX."""
    data: bytes


class Package(Struct, frozen=True):
    """What a host gets once its zygote has split off: both halves of the assignment, and the secret."""

    files: list[File]
    digest: str
    secret: bytes
    policy: Policy

    def __repr__(self) -> str:
        return f"<package of {len(self.files)} files>"  # logs of a cluster show arguments


class Ready(Struct, frozen=True):
    """What a host says before it gets the package; with a `fault`, that it can't be of use."""

    level: str = ""
    layers: list[str] = []
    device: str = ""
    """What GPU checks run on there, as in EnvironmentInfo."""
    grader: str = ""
    torch: str = ""
    python: str = ""
    """Major and minor version."""
    fault: str = ""


class Pages(Struct, frozen=True):
    """What a host answers for a submission: its result and pages as bytes, or why the run can't go on."""

    result: bytes = b""
    html: bytes = b""
    markdown: bytes = b""
    fault: str = ""
    exit_status: int = 0
    """Not 0: the whole run can't go on."""


def pack(assignment: Assignment, templates: Path, secret: bytes, policy: Policy) -> Package:
    """Everything that marking and rendering read. `templates`: the course's own, if there are any.

    Raises UsageError when it is larger than MOST_MB.
    """
    files: list[File] = []
    for place, folder in (
        (f"assignments/{assignment.name}", assignment.public),
        (f"solutions/{assignment.name}", assignment.staff),
        ("templates", templates),
    ):
        if folder.resolve() == BUILT_IN:
            continue  # every machine has those
        files += [File(f"{place}/{path}", (folder / path).read_bytes()) for path in _inside(folder)]
    size = sum(len(file.data) for file in files)
    if size > MOST_MB << 20:
        raise UsageError(
            f"{assignment.public} and {assignment.staff} hold {size >> 20} MB, more than the {MOST_MB} MB that can be "
            "sent to each machine of a cluster. Move large files that no check reads elsewhere."
        )
    return Package(files, assignment.digest(), secret, policy)


def unpack(package: Package, terms: Terms, folder: Path) -> Assignment:
    """Lay the package out in `folder`. Raises GraderFault when it is not what was sent."""
    for file in package.files:
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts:
            raise GraderFault(f"The package holds a path that leads out of it: {file.path}.")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
    assignment = Assignment(
        terms.name, folder / "assignments" / terms.name, folder / "solutions" / terms.name, terms.settings
    )
    if assignment.digest() != package.digest:
        raise GraderFault("The assignment that arrived is not the one that was sent. Start the run again.")
    return assignment


def _inside(folder: Path) -> Iterator[PurePosixPath]:
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        inner = PurePosixPath(path.relative_to(folder).as_posix())
        caches = any(part in _LEFT_OUT or part.startswith(".") for part in inner.parts[:-1])
        if path.is_file() and not caches:
            yield inner


encode = msgspec.msgpack.encode
decode_terms = msgspec.msgpack.Decoder(Terms).decode
decode_package = msgspec.msgpack.Decoder(Package).decode
decode_ready = msgspec.msgpack.Decoder(Ready).decode
decode_pages = msgspec.msgpack.Decoder(Pages).decode
