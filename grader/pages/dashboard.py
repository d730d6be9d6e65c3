"""The class on one page: who, what, and how the run went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from jinja2 import TemplateError as JinjaError
from markupsafe import Markup

from grader.pages.class_rows import Class
from grader.pages.class_view import STATES, class_view
from grader.pages.render import content_security_policy, environment, read_source, template_error
from grader.pages.view import time_words
from grader.pages.words import Words, load_words, with_built_in
from grader.results import Report, RunInfo
from grader.text import clean


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
            data=_data(gathered, words, reports_folder),
            group=class_view(gathered, run, words),
        )
    except JinjaError as error:
        raise template_error(error) from None


def _data(group: Class, words: Words, folder: str) -> Markup:
    """The students as JSON for the page's script: lists and indices instead of names, to stay small."""
    called = group.listed_callings()
    ideas = {row.id: [*row.misconceptions, *called.get(row.calling, ())] for row in group.rows}
    misconceptions = {id: at for at, id in enumerate(dict.fromkeys(id for found in ideas.values() for id in found))}
    flags = {id: at for at, id in enumerate(dict.fromkeys(id for r in group.rows for id in r.flags))}
    table = {
        "folder": folder,
        "max": group.max_score,
        "checks": [title.replace("`", "") for title, _, _ in group.checks.values()],
        "ids": list(group.checks),
        "misconceptions": [clean(group.titles.get(id, id), 200).replace("`", "") for id in misconceptions],
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
                [misconceptions[id] for id in ideas[row.id]],
                [flags[id] for id in row.flags],
                round(row.changed, 3),
                round(row.seconds, 2),
            ]
            for row in group.rows
        ],
    }
    # In a script element only "<" could end it; JSON may write it as an escape.
    return Markup(msgspec.json.encode(table).decode().replace("<", "\\u003c"))
