"""A comparison of two runs in a terminal, as CSV, and as a page."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from jinja2 import TemplateError as JinjaError
from markupsafe import Markup
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.compare import Change, Comparison, by_title, compare, note
from grader.pages.render import content_security_policy, environment, read_source, template_error
from grader.pages.summary import number, signed
from grader.pages.words import Words, load_words, with_built_in
from grader.results import Person
from grader.run_directory import RunDirectory, write
from grader.sheets.sheet import harmless
from grader.text import clean, for_terminal

COLUMNS = (
    *("submission", "id", "name", "email", "before", "after", "change", "max_before", "max_after"),
    *("checks", "why", "note"),
)
SHOWN, SHOWN_CHECKS = 60, 4


def show(run_a: Path, run_b: Path, *, csv_file: Path | None = None, html_file: Path | None = None) -> None:
    """Compare, print the table, and write the files that are asked for. Raises UsageError as `compare` does."""
    found = compare(RunDirectory(run_a), RunDirectory(run_b))
    words = load_words()
    if csv_file is not None:
        write(csv_file, as_csv(found, words))
    if html_file is not None:
        write(html_file, as_html(found, words))
    _print(Console(highlight=False), found)


def as_csv(found: Comparison, words: Words) -> str:
    """One line a person whose mark changed, with a note to send."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in found.changed:
        numbers = [number(value) for value in (one.before, one.after, one.difference, one.max_before, one.max_after)]
        said = [check_words(one), "; ".join(one.causes.values()), note(one, found.title, words)]
        for person in one.people or (Person(id=one.submission),):
            whose = [one.submission, person.id, person.name, person.email]
            writer.writerow([harmless(clean(cell, 4000)) for cell in (*whose, *numbers, *said)])
    return text.getvalue()


def as_html(found: Comparison, words: Words) -> str:
    """The page for staff: who, how much, why, and the note for each."""
    engine = environment(with_built_in(()))
    style = Markup(
        read_source(engine, "page.css") + read_source(engine, "index.css") + read_source(engine, "compare.css")
    )
    shared = common(found.changed)
    rows = [
        {
            "name": clean(one.name, 200),
            "submission": one.submission,
            "before": f"{number(one.before)}/{number(one.max_before)}",
            "after": f"{number(one.after)}/{number(one.max_after)}",
            "difference": signed(one.difference),
            "down": one.difference < 0,
            "checks": [
                f"{clean(title, 300)}: {number(before)} → {number(after)}"
                for title, before, after in by_title(check for check in one.checks if not check.rescaled)
            ],
            "why": [clean(words_, 600) for words_ in one.causes.values() if words_ not in shared],
            "unexplained": one.unexplained,
            "note": clean(note(one, found.title, words), 4000),
        }
        for one in found.changed
    ]
    try:
        return engine.get_template("compare.html.j2").render(
            w=words,
            language="en",
            style=style,
            csp=content_security_policy(style=style),
            found=found,
            rows=rows,
            worth=found.worth.in_words(),
            shared=[clean(line, 600) for line in shared],
            counts=counts(found),
        )
    except JinjaError as error:
        raise template_error(error) from None


def counts(found: Comparison) -> list[tuple[str, int]]:
    """The figures above the table."""
    return [
        ("compared", found.compared),
        ("other marks", len(found.changed)),
        ("more points", sum(one.difference > 0 for one in found.changed)),
        ("fewer points", sum(one.difference < 0 for one in found.changed)),
        *([("moved with the points of checks only", found.rescaled)] if found.rescaled else []),
        ("same mark, other checks", len(found.shifted)),
        ("without a cause", sum(one.unexplained for one in [*found.changed, *found.shifted])),
    ]


def common(changed: list[Change]) -> list[str]:
    """The causes of every change that checks made: said once instead of in each line."""
    made = [one for one in changed if one.checks]
    return (
        [words for words in made[0].causes.values() if all(words in one.causes.values() for one in made)]
        if made
        else []
    )


def check_words(one: Change, most: int = 1000) -> str:
    """ "rows 0 → 8, parity 20 → 0", and how many more there are beyond `most`. Without those that are only worth more
    or less than before."""
    checks = [check for check in one.checks if not check.rescaled]
    words = [f"{check.id} {number(check.points_before)} → {number(check.points_after)}" for check in checks[:most]]
    more = len(checks) - most
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def _print(console: Console, found: Comparison) -> None:
    shared = common(found.changed)
    table = Table(box=None, header_style="bold")
    table.add_column("student", max_width=30, no_wrap=True)
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("checks", ratio=1)
    table.add_column("made by", ratio=1)
    for one in found.changed[:SHOWN]:
        why = [words for words in one.causes.values() if words not in shared]
        table.add_row(
            escape(for_terminal(one.name, 80)),
            f"{number(one.before)}/{number(one.max_before)}",
            f"{number(one.after)}/{number(one.max_after)}",
            signed(one.difference),
            escape(for_terminal(check_words(one, SHOWN_CHECKS), 300)),
            escape(for_terminal("; ".join(why), 300)),
        )
    if found.changed:
        console.print(table)
    if len(found.changed) > SHOWN:
        console.print(f"... and {len(found.changed) - SHOWN} more.")
    for line in found.worth.in_words():
        console.print(escape(for_terminal(line, 600)), soft_wrap=True)
    whole = "of these changes" if all(one.checks for one in found.changed) else "changes of checks"
    for words in shared:
        console.print(f"All {whole} were made by: {escape(for_terminal(words, 300))}", soft_wrap=True)
    console.print(", ".join(f"{name}: {count}" for name, count in counts(found)), soft_wrap=True)
    for run, names in ((found.before, found.only_before), (found.after, found.only_after)):
        if names:
            more = f" and {len(names) - 20} more" if len(names) > 20 else ""
            shown = for_terminal(", ".join(names[:20]), 900)
            console.print(f"Only in {escape(run)}: {escape(shown)}{more}", soft_wrap=True)
