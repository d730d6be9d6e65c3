"""The audit's finding in a terminal and as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from jinja2 import TemplateError as JinjaError
from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.assignment import Assignment
from grader.auditing.audit import LISTED, Audit, Margin
from grader.auditing.candidates import Kind
from grader.auditing.trials import Outcome
from grader.pages.render import content_security_policy, environment, read_source, template_error
from grader.pages.words import with_built_in

GROUPS: tuple[tuple[Kind, str], ...] = (
    ("right", "Right answers"),
    ("starter", "The starter"),
    ("misconception", "Misconceptions, one at a time"),
    ("cheat", "Cheap answers"),
    ("mutant", "Small changes of the reference"),
    ("pair", "Pairs of misconceptions that no check caught"),
)
CAUGHT, MEANT, PASSED = "●", "○", "·"
WIDEST = 50
"""Columns for a candidate's name in a terminal."""


def announce(assignment: Assignment, console: Console) -> None:
    """Say what begins, and that it takes its time: nothing else is printed until all is marked."""
    words = f"Marking many right and wrong answers to {assignment.settings.title!r}. It can take some minutes."
    console.print(Text(words), soft_wrap=True)


def show(audit: Audit, console: Console) -> None:
    """Print everything, the verdict last."""
    console.print(Text(f"What the hidden checks of {audit.title!r} catch", style="bold"))
    console.print(_legend(audit))
    for kind, title in GROUPS:
        rows = [outcome for outcome in audit.outcomes if outcome.kind == kind]
        if rows:
            console.print(_matrix(audit, title, rows))
    console.print(_margins(audit.margins))
    for line in summary(audit):
        console.print(Text(line), soft_wrap=True)  # names are copied from here: no line end inside of one
    for fault in audit.faults:
        console.print(Text(f"✗ {fault}", style="bold red"), soft_wrap=True)
    if {outcome.name for outcome in audit.survivors} - set(audit.listed):
        console.print(Text(f"Mend the checks. What is right after all goes into {LISTED}, with the reason."))


def summary(audit: Audit) -> list[str]:
    """The finding in sentences."""
    count = {kind: sum(outcome.kind == kind for outcome in audit.outcomes) for kind, _ in GROUPS}
    survivors = {outcome.name for outcome in audit.survivors}
    unlisted = len(survivors - set(audit.listed))
    idle = [check.id for check in audit.checks if not audit.caught_only_by(check.id)]
    two = f"{audit.pairs} pair{'' if audit.pairs == 1 else 's'} of them"
    lines = [
        f"Tried {count['right']} right answers, the starter, {count['misconception']} misconceptions and {two}, "
        f"{count['cheat']} cheap answers and {count['mutant']} small changes of the "
        "reference; each but the caught pairs on two seeds.",
        f"Full marks for {len(survivors)} that were meant to be wrong: {len(survivors) - unlisted} are listed as right "
        f"after all, {unlisted} not explained.",
        f"Checks that could go, because the others catch all that they catch: {', '.join(idle) or 'none'}.",
    ]
    lines += [
        f"  {outcome.name}: {audit.listed[outcome.name]} ({outcome.likeness})"
        for outcome in audit.survivors
        if outcome.name in audit.listed  # the others are faults, which are shown with these lines
    ]
    if not audit.faults:
        lines.append("All is as it should be.")
    return lines


def page(audit: Audit, *, template_dirs: Sequence[Path] = ()) -> str:
    """The finding as one HTML page. Raises AssignmentError when a template can't be used."""
    engine = environment(with_built_in(template_dirs))
    style = Markup(read_source(engine, "page.css") + read_source(engine, "audit.css"))
    groups = [(title, [o for o in audit.outcomes if o.kind == kind]) for kind, title in GROUPS]
    try:
        return engine.get_template("audit.html.j2").render(
            language="en",
            style=style,
            csp=content_security_policy(style=style),
            audit=audit,
            lines=summary(audit),
            groups=[group for group in groups if group[1]],
            margins=[(m, _times(m.gauge.right), _times(m.gauge.wrong)) for m in audit.margins],
            mark=_mark,
        )
    except JinjaError as error:
        raise template_error(error) from None


def _mark(outcome: Outcome, check: str) -> str:
    if check not in outcome.failed:
        return PASSED
    return MEANT if outcome.kind == "right" and check in outcome.loses else CAUGHT


def _legend(audit: Audit) -> Table:
    table = Table(title="Checks", title_justify="left", box=box.SIMPLE)
    table.add_column("no.", justify="right")
    table.add_column("check")
    for column in ("points", "catches", "alone"):
        table.add_column(column, justify="right")
    for number, check in enumerate(audit.checks, 1):
        alone = audit.caught_only_by(check.id)
        table.add_row(str(number), Text(check.id), f"{check.worth:g}", str(audit.caught_by(check.id)), str(len(alone)))
    return table


def _matrix(audit: Audit, title: str, rows: Sequence[Outcome]) -> Text:
    """One line a candidate, one sign a check, under the checks' numbers."""
    width = min(WIDEST, max(len(_short(outcome.name)) for outcome in rows))
    numbers = [f"{number:2}" for number in range(1, len(audit.checks) + 1)]
    text = Text()
    text.append(f"{title} ({CAUGHT} fails the check, {MEANT} fails it by intention)\n", style="bold")
    for digit in (0, 1):
        text.append(" " * (width + 2) + "".join(number[digit] for number in numbers) + "\n", style="dim")
    for outcome in rows:
        marks = "".join(_mark(outcome, check.id) for check in audit.checks)
        text.append(f"{_cut(_short(outcome.name), width)}  {marks}\n", style="yellow" if outcome.survived else "")
    return text


def _cut(words: str, width: int) -> str:
    """Exactly `width` columns."""
    return f"{words:{width}}" if len(words) <= width else words[: width - 1] + "…"


def _short(name: str) -> str:
    """A mutant by what it became."""
    return name.rpartition("  =>  ")[2]


def _margins(margins: Sequence[Margin]) -> Text:
    """One line a comparison: the largest error of a right answer, the smallest of a wrong one, and whose it was."""
    text = Text("Errors in units of the tolerance: the largest right one, the smallest wrong one\n", style="bold")
    left = [f"{margin.check}: {margin.what}" for margin in margins]
    width = min(34, max(map(len, left), default=0))
    for words, margin in zip(left, margins, strict=True):
        gauge = margin.gauge
        numbers = f"{_times(gauge.right):>7}  {_times(gauge.wrong):>7}"
        text.append(f"{_cut(words, width)}  {numbers}  {_cut(_short(gauge.nearest), 25).rstrip()}\n", style="not bold")
    return text


def _times(error: float) -> str:
    """An error in units of its tolerance: two digits, or the power of ten when the tolerance is exact."""
    if math.isinf(error):
        return "-"
    return f"{error:.2g}" if error < 1e9 else "exact"
