"""The verbs. No logic: each one reads its arguments, calls one function, and shows what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from grader import __version__
from grader import cli_services as services
from grader.cli_services import PATHS

ROOT = Path(__file__).resolve().parent.parent
JOBS = click.IntRange(min=1, max=256)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="grader")
@click.option(
    "--root",
    type=PATHS,
    default=ROOT,
    show_default="the grader's own folder",
    help="The course folder: it holds assignments/ and solutions/.",
)
@click.pass_context
def cli(context: click.Context, root: Path) -> None:
    """An autograder for courses that teach deep learning in PyTorch."""
    context.obj = root.resolve()


@cli.command()
@click.argument("assignment")
@click.argument("paths", nargs=-1, required=True, type=PATHS)
@click.option("--out", type=PATHS, default=None, help="The run directory.  [default: runs/ASSIGNMENT]")
@click.option(
    "--jobs",
    type=JOBS,
    default=None,
    help="Markers side by side.  [default: the cores that are available]",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "gpu"]),
    default="auto",
    show_default=True,
    help="auto: a real accelerator, else the emulated one; cpu: GPU checks are skipped; gpu: only a real one.",
)
@click.option(
    "--from",
    "source",
    default="auto",
    show_default=True,
    help="Where the submissions come from, if it can't be told from what is inside: moodle, canvas, folders, ... (all "
    "are in docs/running-a-course.md).",
)
@click.option("--roster", type=PATHS, default=None, help="CSV with id, name, email, section.")
@click.option(
    "--extensions",
    type=PATHS,
    default=None,
    help="CSV with id and due or extra.  [default: the run's own extensions.csv]",
)
@click.option(
    "--adjust", type=PATHS, default=None, help="CSV with id, points, reason.  [default: the run's own adjust.csv]"
)
@click.option("--fresh", is_flag=True, help="Grade everything again.")
@click.option(
    "--require-level",
    type=click.Choice(["A", "B", "C"]),
    default="B",
    show_default=True,
    help="Refuse to grade below this sandbox level (see grader doctor).",
)
@click.option("--cluster", default="", metavar="ADDRESS", help="A Dask scheduler whose workers mark, or its file.")
@click.option("--insecure", is_flag=True, help="Grade even where student code can't be confined. The results say so.")
@click.pass_obj
def grade(root: Path, /, **options: Any) -> None:
    """Grade submissions: files, folders, zips, or a learning system's download."""
    from grader import clean_start

    clean_start.ensure()
    from grader.grade import grade as run

    run(root, **options)


@cli.command()
@click.argument("assignment")
@click.argument("file", required=False, type=PATHS)
@click.option("--strict", is_flag=True, help="Exit status 1 when a public check does not pass; without it 0.")
@click.pass_obj
def check(root: Path, assignment: str, file: Path | None, *, strict: bool) -> None:
    """Run the public checks on your own machine. They are not the mark."""
    from grader.public import check as run

    passed = run(root, assignment, file)
    if strict and not passed:
        raise SystemExit(1)


@cli.command()
@click.argument("run", type=PATHS)
@click.option(
    "--for",
    "audience",
    type=click.Choice(["students", "staff"]),
    default="students",
    show_default=True,
    help="Whose pages: for staff, RUN/staff.html and RUN/staff/, with flags, tracebacks and evidence.",
)
@click.option(
    "--phase",
    type=click.Choice(["before_due", "after_due", "published"]),
    default="published",
    show_default=True,
    help="Decides which checks students may see.",
)
@click.option("--language", default="en", show_default=True, help="Language of the words around the checks.")
@click.option("--templates", type=PATHS, default=None, help="A folder with templates that replace the grader's.")
@click.pass_obj
def feedback(root: Path, /, run: Path, **options: Any) -> None:
    """Write the pages of a run again, from its stored results. Runs no student code."""
    from grader.feedback import feedback as write

    write(root, run, **options)


@cli.command()
@click.argument("run", type=PATHS)
@click.argument("submission")
@click.argument("check")
@click.argument("paths", nargs=-1, required=True, type=PATHS)
@click.option("--all", "whole", is_flag=True, help="Every call and every number, not only the call that failed.")
@click.pass_obj
def replay(root: Path, /, run: Path, submission: str, check: str, paths: tuple[Path, ...], *, whole: bool) -> None:
    """Run one check again on the same inputs and show how it ended. PATHS: the submissions as they were graded."""
    from grader import clean_start

    clean_start.ensure()
    from grader.replay import replay as again

    again(root, run, submission, check, paths, whole=whole)


@cli.command()
@click.argument("assignment")
@click.option("--jobs", type=JOBS, default=None, help="Processes.  [default: the available cores]")
@click.option("--html", type=PATHS, default=None, help="Write the findings as a page, too.")
@click.pass_obj
def audit(root: Path, /, assignment: str, jobs: int | None, html: Path | None) -> None:
    """Prove what the hidden checks can and can't catch. Exit status 1 when a wrong answer gets away."""
    from rich.console import Console

    from grader.assignment import load
    from grader.auditing import audit_report
    from grader.auditing.audit import audit as examine
    from grader.run_directory import write

    loaded = load(assignment, root)
    audit_report.announce(loaded, Console(stderr=True))
    findings = examine(loaded, jobs=jobs)
    audit_report.show(findings, Console())
    if html is not None:
        write(html, audit_report.page(findings))
    raise SystemExit(findings.exit_status)


@cli.command()
@click.argument("name")
@click.pass_obj
def new(root: Path, /, name: str) -> None:
    """Write both halves of a new assignment that works from the start."""
    from grader.authoring.new import new as write

    for path in write(name, root):
        click.echo(path)
    click.echo("It works already; docs/adding-an-assignment.md says how to make it yours, from step 2 on.")


@cli.command()
@click.argument("assignment")
@click.option("--check", is_flag=True, help="Write nothing; fail when a starter is out of date.")
@click.pass_obj
def release(root: Path, /, assignment: str, check: bool) -> None:
    """Make the starters from the staff master."""
    from grader.assignment import load
    from grader.authoring.release import release as write

    changed = write(load(assignment, root), check=check)
    click.echo("\n".join(map(str, changed)) or "The starters are up to date.")


@cli.command()
@click.option("--matrix", is_flag=True, help="What each set of layers stops, attack by attack.")
@click.pass_obj
def doctor(root: Path, /, matrix: bool) -> None:
    """What this machine can do: sandbox level by trying real attacks, devices, versions."""
    from grader import clean_start

    clean_start.ensure()
    from grader import doctor as examine

    health = examine.report(root)
    click.echo("\n".join([*health.lines, *(["", *examine.matrix()] if matrix else [])]))
    raise SystemExit(0 if health.sound else 1)


@cli.command()
@click.argument("run", type=PATHS)
@click.argument("kind", type=click.Choice(["canvas", "moodle", "csv"]))
@click.option("--into", type=PATHS, default=None, help="A downloaded sheet: only its grade cells are changed.")
@click.option("-o", "--output", type=PATHS, default=None, help="Write here, and leave the downloaded sheet as it is.")
@click.option("--column", default="", help="Heading of the grade column.  [default: the assignment's title, or Grade]")
@click.option("--heading", "headings", multiple=True, metavar="KEY=NAME", help="What a column is called in this sheet.")
@click.option("--encoding", default="", help="The sheet's encoding, where it is not found out rightly.")
@click.option("--scale/--no-scale", default=None, help="What to do where the sheet's maximum is another one.")
@click.option(
    "--decimal", type=click.Choice([".", ","]), default=None, help="Decimal sign.  [default: the sheet's own]"
)
@click.option("--missing", is_flag=True, help="Also write the 0 of those who handed nothing in.")
@click.option(
    "--feedback/--no-feedback", default=True, show_default=True, help="Fill a feedback column if there is one."
)
@click.option(
    "--phase",
    type=click.Choice(["before_due", "after_due", "published"]),
    default="published",
    show_default=True,
    help="Decides which checks the feedback may mention.",
)
def export(run: Path, kind: Any, **options: Any) -> None:
    """Write the grades of a run as a sheet, or into a downloaded one."""
    from grader.sheets.export import Manner
    from grader.sheets.export import export as write

    names = ("scale", "decimal", "missing", "feedback", "phase")
    manner = Manner(**{name: value for name in names if (value := options.pop(name)) is not None})
    write(run, kind, manner=manner, **options)


@cli.command()
@click.argument("run_a", type=PATHS)
@click.argument("run_b", type=PATHS)
@click.option(
    "--csv", "csv_file", type=PATHS, default=None, help="Write the changes here, with a note for each student."
)
@click.option("--html", "html_file", type=PATHS, default=None, help="Write them as a page.")
def compare(run_a: Path, run_b: Path, **files: Any) -> None:
    """Show whose mark changed between two runs, which checks changed it, and why."""
    from grader.compare_report import show

    show(run_a, run_b, **files)


for _service in services.COMMANDS:
    cli.add_command(_service)
