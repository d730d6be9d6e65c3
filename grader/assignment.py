"""Load and validate the public half of an assignment, and know where its staff half lies.

Nothing of `solutions/` is read here beyond names: only a marker does that, after the zygote has split off.
"""

from __future__ import annotations

import ast
import hashlib
import json
import keyword
import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from grader import settings_file
from grader.entry import Entry
from grader.errors import AssignmentError, UsageError
from grader.results import Struct
from grader.rules.times import moment

SETTINGS = "assignment.toml"
SAMPLE_CLASS = "sample_class.toml"
"""What each submission of the sample class must get."""

Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Megabytes = Annotated[int, msgspec.Meta(ge=64, le=1_000_000)]
"""Below that not even the sandbox's own code can run."""
Ending = Literal[".py", ".ipynb"]


class Limits(Struct, frozen=True):
    """What one submission may use. Seconds are wall seconds by the marker's own clock."""

    load_seconds: Seconds = 10.0
    call_seconds: Seconds = 5.0
    total_seconds: Seconds = 20.0
    """For all loads and calls of one submission together."""
    memory_mb: Megabytes = 1024
    """Address space beyond what the bare interpreter with torch has."""
    output_mb: Count = 16
    files: Count = 50
    file_mb: Count = 20


class Late(Struct, frozen=True):
    """Lateness: `deduction` of the maximum for each started `per`, after `grace_minutes`."""

    due: str = ""
    """ISO 8601 with offset."""
    grace_minutes: Annotated[float, msgspec.Meta(ge=0, le=1_000_000)] = 0.0
    per: Literal["hour", "day"] = "day"
    deduction: Fraction = 0.0
    """Fraction of max_score for each started hour or day."""
    cap: Fraction = 1.0
    """At most this fraction of max_score is taken off."""
    floor: Fraction = 0.0
    """Lateness never takes the score below this fraction of max_score (or below what it was)."""
    attempts: Annotated[int, msgspec.Meta(ge=0)] = 0
    """How many submissions count; 0 means no limit."""


class Convention(Struct, frozen=True):
    """What to do about a recognised way of calling or answering that differs from the assignment's."""

    action: Literal["explain", "adapt", "accept"] = "explain"
    deduction: Fraction = 0.0
    """Fraction of max_score taken off when the action is "adapt"."""


class Settings(Struct, frozen=True, kw_only=True):
    """`assignment.toml`, validated."""

    title: str
    entry: Entry
    accepts: Annotated[tuple[Ending, ...], msgspec.Meta(min_length=1)] = (".py", ".ipynb")
    files: list[str] = []
    """The names that the handout asks for; others are accepted and told apart by content."""
    limits: Limits = Limits()
    late: Late = Late()
    from_scratch: list[str] = []
    """Operators of the library that would do the whole exercise; blocked and flagged."""
    trains: bool = False
    """Warm the optimisers in the zygote: only for assignments that train."""
    without_device: Literal["keep", "redistribute"] = "keep"
    """With `--device cpu`: whether skipped GPU points stay in the denominator or are spread over the rest."""
    conventions: dict[str, Convention] = {}
    partial_credit: dict[str, dict[str, Fraction]] = {}
    """misconception id -> check id -> fraction of that check's points that it keeps."""
    colab: str = ""
    """Address of the public repository for the Colab badge, e.g. "https://github.com/OWNER/REPO/blob/main"."""


class Assignment(msgspec.Struct, frozen=True):
    """The public and the staff half of one task."""

    name: str
    public: Path
    staff: Path
    settings: Settings

    @property
    def hidden_checks(self) -> Path:
        return self.staff / "test_hidden.py"

    @property
    def public_checks(self) -> Path:
        return self.public / f"test_{self.name}.py"

    def digest(self) -> str:
        """SHA-256 over every file of both halves that can change a check (sample classes and due dates can't).

        Inputs are drawn from it: a due date that is moved must not give everybody another test.
        """
        digest = hashlib.sha256()
        for half in (self.public, self.staff):
            for path in sorted(half.glob("*")):
                counts = path.suffix in {".py", ".toml", ".ipynb"} and path.name != SAMPLE_CLASS
                if path.is_file() and counts:
                    data = path.read_bytes() if path.name != SETTINGS else _without_lateness(path)
                    digest.update(f"{half is self.staff}/{path.name}/{len(data)}/".encode())
                    digest.update(data)
        return digest.hexdigest()


def load(name: str, root: Path) -> Assignment:
    """Load the assignment called `name` under `root` (the folder that holds assignments/ and solutions/).

    Raises AssignmentError: no such assignment (lists those there are), or a setting that is wrong (names the
    file, the key, and what was expected).
    """
    public = root / "assignments" / name
    path = public / SETTINGS
    if not path.is_file():
        known = sorted(found.parent.name for found in (root / "assignments").glob(f"*/{SETTINGS}") if found.is_file())
        there = (
            f"There is: {', '.join(known)}."
            if known
            else "There is none at all: name the course folder, which holds assignments/ and solutions/, with "
            f"`grader --root FOLDER`, or make an assignment with `grader new {name}`."
        )
        raise AssignmentError(f"There is no assignment {name!r} in {root / 'assignments'}. {there}")
    return Assignment(name, public, root / "solutions" / name, read_settings(path))


def read_settings(path: Path) -> Settings:
    """`assignment.toml` as Settings. Raises AssignmentError naming file, key and what was expected."""
    settings = settings_file.typed(path, settings_file.read(path), Settings)
    try:
        if settings.late.due:
            moment(settings.late.due, "late.due")
        _check_entry(settings.entry)
        _check_names(settings)
    except UsageError as error:
        raise AssignmentError(f"{path}: {error}") from None
    return settings


def _check_entry(entry: Entry) -> None:
    """Raises UsageError naming the key whose words make no def line."""
    if not entry.function.isidentifier() or keyword.iskeyword(entry.function):
        raise UsageError(f"entry.function: {entry.function!r} is not a name that a function can have.")
    for text in entry.arguments:
        if not _is_parameter(text):
            raise UsageError(
                f"entry.arguments: {text!r} is not a parameter. Expected a name, or a name with its default, as in a "
                'def line: "x" or "eps=1e-5".'
            )
    try:
        compile(f"def {entry.function}({', '.join(entry.arguments)}): pass", SETTINGS, "exec")
    except SyntaxError as error:
        raise UsageError(f"entry.arguments: {entry.arguments} make no def line: {error.msg}.") from None
    if not all(entry.returns) or not entry.returns or len(set(entry.returns)) < len(entry.returns):
        raise UsageError(
            'entry.returns: expected a different name for each returned value, such as ["output", "weights"]; '
            f"got {entry.returns}."
        )


def _check_names(settings: Settings) -> None:
    """Raises UsageError naming the key that holds what is no name of its kind."""
    for name in settings.files:
        if "/" in name or "\\" in name or not name.lower().endswith(settings.accepts):
            raise UsageError(
                f"files: {name!r} is not a name that a file handed in can have. Expected one that ends in "
                f'{" or ".join(settings.accepts)}, without a folder, such as "{settings.entry.function}.py".'
            )
    for name in settings.from_scratch:
        if not re.fullmatch(r"[A-Za-z_][\w.]{2,}", name):
            raise UsageError(
                f"from_scratch: {name!r} is not the name of a part of the library. Expected one such as "
                '"scaled_dot_product_attention" or "MultiheadAttention".'
            )


def _is_parameter(text: str) -> bool:
    """Whether it is one parameter of a def line without annotation, * or /."""
    try:
        statement = ast.parse(f"def f({text}\n): pass").body[0]
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # the last two: nested too deeply
        return False
    assert isinstance(statement, ast.FunctionDef)
    names, name = statement.args, text.partition("=")[0].strip()
    return [one.arg for one in names.args] == [name] and not names.vararg and not names.kwarg and not names.kwonlyargs


def _without_lateness(path: Path) -> bytes:
    """The settings without `[late]`, which is applied after the checks. Raises AssignmentError."""
    table = settings_file.read(path)
    table.pop("late", None)
    return json.dumps(table, sort_keys=True).encode()
