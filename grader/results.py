"""What grading one submission produces: plain, frozen, typed data that is stored as JSON and rendered later.

`Report` is the only thing that templates see. Numbers that JSON can't hold (NaN, infinities) appear in a
`Picture` as the words "nan", "inf" and "-inf"; everywhere else they are formatted into the message.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA = 1
Status = Literal["passed", "failed", "error", "skipped"]
Visibility = Literal["visible", "after_due_date", "after_published", "hidden"]
Cell = float | str
NOTHING = "Nothing was handed in. If you did hand something in, ask the staff whether it has arrived."
"""The `problem` of a person of the roster without a submission: by it they are told from work that can't be read."""


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Frozen; unknown keys in a file are an error that names the key."""


class Picture(Struct, frozen=True, kw_only=True):
    """Up to three small tables of numbers to be drawn side by side: rows x columns each."""

    title: str
    rows: str
    """What a row is, e.g. "query"."""
    columns: str
    yours: list[list[Cell]]
    expected: list[list[Cell]] = []
    difference: list[list[Cell]] = []
    marked: list[list[int]] = []
    """[row, column] of the cells that matter, worst first."""
    masked: list[list[int]] = []
    """[row, column] of the cells that the mask forbids."""
    top: int = 0
    left: int = 0
    """Where the first row and column lie in the whole tensor, when this is a window of it."""


class Place(Struct, frozen=True, kw_only=True):
    """A line of the student's own work."""

    file: str
    line: int
    cell: int | None = None
    """1-based number of the notebook cell, or None for a .py file."""
    text: str = ""


class CheckResult(Struct, frozen=True, kw_only=True):
    """The outcome of one check. `message` and `hint` are authored words that a student may read."""

    id: str
    title: str
    status: Status
    score: float
    max_score: float
    visibility: Visibility = "visible"
    device: str = "cpu"
    emulated: bool = False
    tried: str = ""
    """What was tried, in words: sizes, dtype, device, mask."""
    message: str = ""
    hint: str = ""
    detail: str = ""
    """For staff only: the student's exception text and traceback, or ours when status is "error"."""
    place: Place | None = None
    reason: str = ""
    """What went wrong whatever the case was: checks that share it are explained once."""
    pictures: list[Picture] = []
    seconds: float = 0.0


class DiagnosisResult(Struct, frozen=True, kw_only=True):
    """The fewest known wrong ideas that reproduce every number the student's code produced."""

    misconceptions: list[str]
    titles: list[str] = []
    """Of each of them. Not in results of earlier versions."""
    title: str
    explanation: str
    hint: str = ""
    section: str = ""
    """The section of the handout to read again."""
    evidence: str = ""
    """For staff: how many calls it reproduces and how closely."""
    alternatives: list[list[str]] = []
    place: Place | None = None


class Flag(Struct, frozen=True, kw_only=True):
    """Something staff should look at. Never changes a mark by itself."""

    id: str
    message: str
    place: Place | None = None


class Person(Struct, frozen=True, kw_only=True):
    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    lms_id: str = ""
    """The number that Canvas or Moodle knows the person by, when the submissions came from there."""


class SubmissionInfo(Struct, frozen=True, kw_only=True):
    id: str
    """Safe as a file name and unique in the run."""
    files: list[str]
    digest: str
    people: list[Person] = []
    submitted_at: str = ""
    """ISO 8601 with offset, or "" when the source does not say."""
    notes: list[str] = []
    """What staff should know: other attempts, ignored files; behind that, what came up while the work was read."""
    noted: int = 0
    """How many of the notes are about how the work was handed in. They come first, and say nothing of the work."""
    choice: list[str] = []
    """Those of the notes that students read too: which of several files was graded."""
    attempt: int = 0
    """Which of the attempts this is (1 is the first); 0 when the source does not say."""
    attempts: int = 0
    """How many were handed in; 0 when the source does not say."""
    former: str = ""
    """The id without a roster. By it a later run knows a result that has got another id since."""


class SourceText(Struct, frozen=True, kw_only=True):
    """One of the student's files as text, for the report. Notebooks: one entry a code cell."""

    file: str
    cell: int | None
    text: str


class SandboxInfo(Struct, frozen=True, kw_only=True):
    level: str
    layers: list[str]


class EnvironmentInfo(Struct, frozen=True, kw_only=True):
    grader: str
    torch: str
    python: str
    seed_id: str
    """Fingerprint of the course secret, never the secret."""
    assignment_digest: str = ""
    device: str = "cpu"
    """What the GPU checks ran on: "cuda:0 NVIDIA ...", "emulated" or "none"."""


class Adjustment(Struct, frozen=True, kw_only=True):
    """A change to the score that no check made: lateness, or a decision of staff."""

    kind: Literal["late", "attempts", "manual", "convention", "partial"]
    points: float
    """May be 0: something that the student should know although it costs nothing."""
    reason: str


class Report(Struct, frozen=True, kw_only=True):
    """Results plus diagnoses of one submission. `score` is the checks' sum plus the adjustments, never below 0."""

    schema: int = SCHEMA
    assignment: str
    title: str
    submission: SubmissionInfo
    status: Literal["graded", "error"]
    score: float
    max_score: float
    checks: list[CheckResult]
    problem: str = ""
    """Why the work could not be loaded or called at all, in words that let the student mend it."""
    problem_detail: str = ""
    """For staff: the student's exception text behind the problems of loading."""
    place: Place | None = None
    diagnoses: list[DiagnosisResult] = []
    conventions: list[str] = []
    """What the contract probe recognised, in words."""
    translated: bool = False
    """Whether the checks were called through an adapter for all of these, so that they explain no failure."""
    adjustments: list[Adjustment] = []
    flags: list[Flag] = []
    sources: list[SourceText] = []
    output: str = ""
    """The first of what the student's code printed; for staff."""
    sandbox: SandboxInfo
    environment: EnvironmentInfo
    seconds: float = 0.0

    @property
    def absent(self) -> bool:
        """Whether this is a person of the roster who handed nothing in: a row, but no work that was graded."""
        return not self.submission.files and self.problem == NOTHING


class RunInfo(Struct, frozen=True, kw_only=True):
    """What a run over a class was, for its index page and `run.json`."""

    id: str
    started: str
    """ISO 8601 with offset."""
    seconds: float
    assignment: str
    title: str
    grader: str
    torch: str
    python: str
    seed_id: str
    sandbox: SandboxInfo
    device: str = "cpu"
    """As in EnvironmentInfo."""
    source: str = "auto"
    """How intake was told to read the submissions."""
    roster: str = ""
    jobs: int = 1
    counts: dict[str, int] = {}
    """What happened to the submissions, in words: {"graded now": 190, "kept from before": 10}."""


def total(checks: list[CheckResult], adjustments: list[Adjustment]) -> float:
    """The score: what the checks gave plus what was adjusted, rounded to a thousandth, never below zero."""
    raw = sum(check.score for check in checks) + sum(change.points for change in adjustments)
    return max(0.0, round(raw, 3))


def encode(stored: Report | RunInfo) -> bytes:
    """What a run stores, as indented JSON bytes ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(stored), indent=1) + b"\n"


def decode(data: bytes) -> Report:
    """The report that `encode` wrote. Raises `msgspec.ValidationError` naming the wrong place."""
    return msgspec.json.decode(data, type=Report)


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of `results/<submission>.json`."""
    return msgspec.json.schema(Report)
