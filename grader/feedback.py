"""`grader feedback`: the pages of a run again, from its stored results. Runs no student code."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rich.console import Console

from grader.errors import UsageError
from grader.pages import dashboard
from grader.pages.render import Renderer
from grader.pages.summary import Phase
from grader.run_directory import FEEDBACK, RunDirectory, write


def feedback(
    root: Path,
    run: Path,
    *,
    audience: Literal["students", "staff"] = "students",
    phase: Phase = "published",
    language: str = "en",
    templates: Path | None = None,
) -> None:
    """Write every report (and for staff the class page) again.

    Students' pages replace those in `feedback/`; what staff see goes into `staff/`, so that the two can't be mixed up.
    Raises UsageError when `run` is no run directory or `templates` no folder, AssignmentError when a template can't be
    used.
    """
    directory = RunDirectory(run)
    info = directory.info()
    if templates is not None and not templates.is_dir():
        raise UsageError(f"--templates: {templates} is not a folder. Give the one with the templates.")
    overrides = (templates, root / "solutions" / info.assignment / "templates", root / "templates")
    folders = [folder for folder in overrides if folder is not None and folder.is_dir()]
    renderer = Renderer(folders, language=language)
    name = FEEDBACK if audience == "students" else "staff"
    reader: Literal["student", "staff"] = "student" if audience == "students" else "staff"
    directory.make(name)
    count = 0
    for report in directory.reports():
        count += 1
        target = run / name / report.submission.id
        write(target.with_name(target.name + ".html"), renderer.html(report, audience=reader, phase=phase))
        write(target.with_name(target.name + ".md"), renderer.markdown(report, audience=reader, phase=phase))
    page = dashboard.dashboard(directory.reports(), info, template_dirs=folders, language=language, reports_folder=name)
    write(run / ("index.html" if audience == "students" else "staff.html"), page)
    Console().print(f"{count} reports for {audience} in {run / name}", soft_wrap=True)
