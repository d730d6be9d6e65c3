"""The class on one page: who, what, and how the run went. Reads reports one at a time and keeps a line of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from jinja2 import TemplateError as JinjaError
from markupsafe import Markup

from grader.check_view import count_words
from grader.render import content_security_policy, environment, read_source, template_error
from grader.results import Report, RunInfo
from grader.statistics import BINS, histogram, median, point_biserial
from grader.summary import State, number, state
from grader.text import clean
from grader.view import people_words, time_words
from grader.words import Words, load_words, with_built_in

MARKS = {"passed": "p", "failed": "f", "error": "e", "skipped": "s"}
STATES: tuple[State, ...] = ("right", "partly", "wrong", "problem", "missing", "fault")
EXAMPLES = 3
COMMON = 6
"""Misconceptions shown at once; the rarer ones are folded."""
SLOWEST = 5
FEWEST = 10
"""Of fewer submissions a correlation says nothing."""
TALLEST = 220
"""Pixels of the highest bar of the scores."""
LIMIT_FLAG = "limit"
"""Flags whose id starts so say that a submission hit a limit."""


@dataclass(frozen=True)
class Row:
    """What the page keeps of one report: under a kilobyte, so that 10,000 fit in memory easily."""

    id: str
    name: str
    search: str
    """Ids and sections, for the filter."""
    score: float
    share: float
    """score / max_score"""
    state: State
    marks: str
    """One letter of MARKS a check, in the order of the page's checks; a space where it was not there."""
    points: tuple[float, ...]
    misconceptions: tuple[str, ...]
    flags: tuple[str, ...]
    changed: float
    seconds: float


@dataclass
class Class:
    """The rows, and what the checks and misconceptions are called."""

    rows: list[Row] = field(default_factory=list)
    checks: dict[str, tuple[str, float, str]] = field(default_factory=dict)
    """id -> (title, max_score, "cpu", "gpu" or "emulated"), in the order in which they were met"""
    titles: dict[str, str] = field(default_factory=dict)
    max_score: float = 0.0

    def add(self, report: Report) -> None:
        for check in report.checks:
            device = "emulated" if check.emulated else check.device
            self.checks.setdefault(check.id, (clean(check.title, 300), check.max_score, device))
        by_id = {check.id: check for check in report.checks}
        here = [by_id.get(id) for id in self.checks]
        for found in report.diagnoses:
            if len(found.misconceptions) == 1:
                self.titles.setdefault(found.misconceptions[0], clean(found.title, 200))
        self.max_score = max(self.max_score, report.max_score)
        people = report.submission.people
        self.rows.append(
            Row(
                id=report.submission.id,
                name=people_words(report),
                search=clean(" ".join(part for p in people for part in (p.id, p.section) if part), 300),
                score=report.score,
                share=report.score / report.max_score if report.max_score else 0.0,
                state=state(report),
                marks="".join(MARKS[check.status] if check else " " for check in here),
                points=tuple(check.score if check else 0.0 for check in here),
                misconceptions=tuple(dict.fromkeys(id for found in report.diagnoses for id in found.misconceptions)),
                flags=tuple(dict.fromkeys(clean(flag.id, 80) for flag in report.flags)),
                changed=sum(change.points for change in report.adjustments),
                seconds=report.seconds,
            )
        )


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
    flags: list[Counted]
    slowest: list[Row]
    facts: list[tuple[str, str]]


def dashboard(
    reports: Iterable[Report],
    run: RunInfo,
    *,
    template_dirs: Sequence[Path] = (),
    language: str = "en",
    reports_folder: str = "feedback",
) -> str:
    """`index.html` of a run. The reports are read once, one at a time: a generator keeps memory flat.

    `reports_folder` is where `<submission>.html` lie, relative to the page. Raises AssignmentError as Renderer does.
    """
    folders = with_built_in(template_dirs)
    words = load_words(template_dirs, language)
    gathered = Class()
    for report in reports:
        gathered.add(report)
    engine = environment(folders)
    style = Markup(read_source(engine, "page.css") + read_source(engine, "index.css"))
    script = Markup(read_source(engine, "index.js"))
    try:
        return engine.get_template("index.html.j2").render(
            w=words,
            language=language,
            style=style,
            script=script,
            csp=content_security_policy(style=style, script=script),
            run=run,
            started=time_words(run.started),
            folder=reports_folder,
            data=_data(gathered, run, words, reports_folder),
            group=class_view(gathered, run, words),
        )
    except JinjaError as error:
        raise template_error(error) from None


def class_view(group: Class, run: RunInfo, words: Words) -> ClassView:
    """Everything that the page says about the class, but for the table of students."""
    rows = group.rows
    scores = [row.score for row in rows]
    counts = Counter(row.state for row in rows)
    ideas = _counted(rows, "misconceptions", {**group.titles, **run.misconceptions})
    return ClassView(
        size=len(rows),
        mean=number(round(sum(scores) / len(scores), 1)) if scores else "0",
        median=number(median(scores)),
        max_score=number(group.max_score),
        states={name: counts[name] for name in STATES},
        flagged=sum(bool(row.flags) for row in rows),
        limited=sum(any(flag.startswith(LIMIT_FLAG) for flag in row.flags) for row in rows),
        bars=_bars(rows),
        checks=_check_lines(group, words),
        misconceptions=ideas[:COMMON],
        rarer=ideas[COMMON:],
        rarer_fold=count_words(words, "index_rarer", len(ideas) - COMMON),
        flags=_counted(rows, "flags", {}),
        slowest=sorted(rows, key=lambda row: -row.seconds)[:SLOWEST],
        facts=_facts(run, words),
    )


def _check_lines(group: Class, words: Words) -> list[CheckLine]:
    size = len(group.checks)
    best_first = sorted(group.rows, key=lambda row: -row.score)
    marks = [row.marks.ljust(size) for row in best_first]
    # Work that could not be run at all fails everything: it would make every check look as if it told much.
    ran = [row for row in group.rows if row.state in ("right", "partly", "wrong")]
    alone = Counter(_only_failure(row, list(group.checks)) for row in group.rows)
    on = {"cpu": "", "gpu": words["on_gpu"], "emulated": words["on_gpu_emulated"]}
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
                twin=on[device] if lines and lines[-1].title == title else "",
                points=number(max_score),
                passed=passed,
                tried=passed + failed,
                percent=_percent(passed, passed + failed),
                discrimination="–" if told is None else f"{told:.2f}".replace("-", "−"),
                weak=told is not None and told < 0.1,
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


def _counted(rows: list[Row], name: str, titles: dict[str, str]) -> list[Counted]:
    holders: dict[str, list[Row]] = {}
    for row in rows:
        for id in getattr(row, name):
            holders.setdefault(id, []).append(row)
    most = max(map(len, holders.values()), default=1)
    found = [
        Counted(
            id=id,
            title=clean(titles.get(id, id), 200),
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


def _data(group: Class, run: RunInfo, words: Words, folder: str) -> Markup:
    """The students as JSON for the page's script: lists and indices instead of names, to stay small."""
    misconceptions = {id: at for at, id in enumerate(dict.fromkeys(id for r in group.rows for id in r.misconceptions))}
    flags = {id: at for at, id in enumerate(dict.fromkeys(id for r in group.rows for id in r.flags))}
    titles = {**group.titles, **run.misconceptions}
    table = {
        "folder": folder,
        "max": group.max_score,
        "checks": [title for title, _, _ in group.checks.values()],
        "ids": list(group.checks),
        "misconceptions": [clean(titles.get(id, id), 200) for id in misconceptions],
        "misconception_ids": list(misconceptions),
        "flags": list(flags),
        "states": [[name, words[f"state_{name}"]] for name in STATES],
        "words": {key.removeprefix("js_"): words[key] for key in words if key.startswith("js_")},
        "rows": [
            [
                row.id,
                row.name,
                row.search,
                round(row.score, 3),
                STATES.index(row.state),
                row.marks,
                [misconceptions[id] for id in row.misconceptions],
                [flags[id] for id in row.flags],
                round(row.changed, 3),
                round(row.seconds, 2),
            ]
            for row in group.rows
        ],
    }
    # In a script element only "<" could end it; JSON may write it as an escape.
    return Markup(msgspec.json.encode(table).decode().replace("<", "\\u003c"))
