"""What the class page says beyond its table of students: checks, misconceptions, scores, flags, the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.pages.check_view import count_words, device_words
from grader.pages.class_rows import MARKS, Class, Row
from grader.pages.statistics import BINS, histogram, median, point_biserial
from grader.pages.summary import State, number
from grader.pages.view import time_words
from grader.pages.words import Words
from grader.results import RunInfo
from grader.text import clean

STATES: tuple[State, ...] = ("right", "partly", "wrong", "problem", "missing", "fault")
EXAMPLES = 3
COMMON = 6
"""Misconceptions shown at once; the rarer ones are folded."""
SLOWEST = 5
FEWEST = 10
"""Of fewer submissions a correlation says nothing."""
WEAK = 0.1
"""A check that discriminates less than this deserves a look."""
TALLEST = 220
"""Pixels of the highest bar of the scores."""
LIMIT_FLAG = "limit"
"""Flags whose id starts so say that a submission hit a limit."""


@dataclass(frozen=True)
class CheckLine:
    """One check over the class."""

    number: int
    id: str
    title: str
    twin: str
    """For a check right after the same check on another device: what differs; "" otherwise."""
    points: str
    passed: int
    tried: int
    percent: str
    discrimination: str
    weak: bool
    """It tells nobody apart, or the wrong way round."""
    alone: int
    """Submissions in which nothing else failed."""
    paths: dict[str, str]
    """Letter of MARKS -> SVG path over the students, best first, one unit each."""


@dataclass(frozen=True)
class Counted:
    """Something that several submissions share."""

    id: str
    title: str
    count: int
    percent: str
    width: str
    """Of its bar, in hundredths."""
    examples: list[Row]
    cost: str = ""
    """Of another way of calling: the points that it costs, in words."""


@dataclass(frozen=True)
class Bar:
    low: int
    """Percent of the points at which the bar starts."""
    count: int
    height: int
    """In pixels."""


@dataclass(frozen=True)
class ClassView:
    """What the template lays out."""

    size: int
    """How many handed something in. All figures are about them; `states` and the table have the others too."""
    mean: str
    median: str
    max_score: str
    states: dict[str, int]
    flagged: int
    limited: int
    bars: list[Bar]
    checks: list[CheckLine]
    misconceptions: list[Counted]
    rarer: list[Counted]
    rarer_fold: str
    callings: list[Counted]
    """Other ways of calling the function than the task's."""
    flags: list[Counted]
    slowest: list[Row]
    facts: list[tuple[str, str]]


def class_view(group: Class, run: RunInfo, words: Words) -> ClassView:
    """Everything that the page says about the class, but for the table of students."""
    rows = [row for row in group.rows if row.state != "missing"]
    scores = [row.score for row in rows]
    counts = Counter(row.state for row in group.rows)
    ideas = _counted(rows, _holders(rows, lambda row: row.misconceptions), group.titles)
    return ClassView(
        size=len(rows),
        mean=number(round(sum(scores) / len(scores), 1)) if scores else "0",
        median=number(median(scores)),
        max_score=number(group.max_score),
        states={name: counts[name] for name in STATES},
        flagged=sum(bool(row.flags) for row in rows),
        limited=sum(any(flag.startswith(LIMIT_FLAG) for flag in row.flags) for row in rows),
        bars=_bars(rows),
        checks=_check_lines(group, rows, words),
        misconceptions=ideas[:COMMON],
        rarer=ideas[COMMON:],
        rarer_fold=count_words(words, "index_rarer", len(ideas) - COMMON),
        callings=_callings(group, rows, words),
        flags=_counted(rows, _holders(rows, lambda row: row.flags), {}),
        slowest=sorted(rows, key=lambda row: -row.seconds)[:SLOWEST],
        facts=_facts(run, words),
    )


def _check_lines(group: Class, rows: list[Row], words: Words) -> list[CheckLine]:
    size = len(group.checks)
    best_first = sorted(rows, key=lambda row: -row.score)
    marks = [row.marks.ljust(size) for row in best_first]
    # Work that could not be run at all fails everything: it would make every check look as if it told much.
    ran = [row for row in rows if row.state in ("right", "partly", "wrong")]
    alone = Counter(_only_failure(row, list(group.checks)) for row in rows)
    lines: list[CheckLine] = []
    for at, (id, (title, max_score, device)) in enumerate(group.checks.items()):
        letters = "".join(mark[at] for mark in marks)
        passed, failed = letters.count("p"), letters.count("f")
        judged = [row for row in ran if row.marks[at : at + 1] in ("p", "f")]
        told = (
            None
            if len(judged) < FEWEST
            else point_biserial(
                [row.marks[at] == "p" for row in judged], [sum(r.points) - r.points[at] for r in judged]
            )
        )
        lines.append(
            CheckLine(
                number=at,
                id=id,
                title=title,
                twin=device_words(device, words) if lines and lines[-1].title == title else "",
                points=number(max_score),
                passed=passed,
                tried=passed + failed,
                percent=_percent(passed, passed + failed),
                discrimination="–" if told is None else f"{told:.2f}".replace("-", "−"),
                weak=told is not None and told < WEAK,
                alone=alone[id.partition("[")[0]],
                paths={letter: _runs(letters, letter) for letter in MARKS.values() if letter in letters},
            )
        )
    return lines


def _only_failure(row: Row, ids: list[str]) -> str:
    """The check without which this submission would have had full marks; both devices are one check here."""
    failed = {ids[at].partition("[")[0] for at, mark in enumerate(row.marks) if mark == "f"}
    return failed.pop() if len(failed) == 1 else ""


def _runs(letters: str, letter: str) -> str:
    """An SVG path of one rectangle for each run of the letter, one unit a student."""
    path = []
    at = letters.find(letter)
    while at >= 0:
        end = at
        while end < len(letters) and letters[end] == letter:
            end += 1
        path.append(f"M{at} 0h{end - at}v1h-{end - at}z")
        at = letters.find(letter, end)
    return "".join(path)


def _callings(group: Class, rows: list[Row], words: Words) -> list[Counted]:
    listed = group.listed_callings()
    found = _counted(rows, _holders(rows, lambda row: listed.get(row.calling, ())), {})

    def cost(counted: Counted) -> str:
        points = [row.cost for row in rows if counted.id in listed.get(row.calling, ()) and row.cost]
        return words["index_calling_cost"].format(points=number(sum(points) / len(points))) if points else ""

    return [replace(counted, cost=cost(counted)) for counted in found]


def _holders(rows: list[Row], ids: Callable[[Row], Sequence[str]]) -> dict[str, list[Row]]:
    holders: dict[str, list[Row]] = {}
    for row in rows:
        for id in ids(row):
            holders.setdefault(id, []).append(row)
    return holders


def _counted(rows: list[Row], holders: dict[str, list[Row]], titles: dict[str, str]) -> list[Counted]:
    most = max(map(len, holders.values()), default=1)
    found = [
        Counted(
            id=id,
            title=clean(titles.get(id, id), 300),
            count=len(who),
            percent=_percent(len(who), len(rows)),
            width=f"{100 * len(who) / most:.1f}",
            examples=who[:EXAMPLES],
        )
        for id, who in holders.items()
    ]
    return sorted(found, key=lambda counted: (-counted.count, counted.id))


def _bars(rows: list[Row]) -> list[Bar]:
    counts = histogram([row.share for row in rows])
    most = max([*counts, 1])
    return [
        Bar(100 * at // BINS, count, max(2 * (count > 0), round(TALLEST * count / most)))
        for at, count in enumerate(counts)
    ]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def _facts(run: RunInfo, words: Words) -> list[tuple[str, str]]:
    counts = ", ".join(f"{count} {what}" for what, count in run.counts.items())
    facts = [
        (words["index_run"], run.id),
        (words["index_started"], time_words(run.started)),
        (words["index_duration"], _duration(run.seconds)),
        (words["index_jobs"], str(run.jobs)),
        (words["index_counts"], counts),
        (words["sandbox"], run.sandbox.level),
        (words["layers"], ", ".join(run.sandbox.layers)),
        (words["device"], run.device),
        (words["grader_version"], run.grader),
        (words["torch_version"], run.torch),
        (words["python_version"], run.python),
        (words["seed_id"], run.seed_id),
    ]
    return [(name, clean(value, 400)) for name, value in facts if value]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
