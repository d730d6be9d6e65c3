"""The verbs of the places that run us. No logic, as in `cli`, which takes them from COMMANDS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class Named(click.ParamType[Path]):
    """A path. An empty one, as an unset variable of a script gives, is not taken for the current folder."""

    name = "path"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if value == "":
            self.fail("it is empty. Write a dot for the current folder.", param, ctx)
        return Path(value)


PATHS = Named()


@click.group()
def gradescope() -> None:
    """Build the autograder for Gradescope, run it there, rehearse it here."""


@gradescope.command("build")
@click.argument("assignment")
@click.option("-o", "--output", type=PATHS, default=None, help="The zip.  [default: build/gradescope-ASSIGNMENT.zip]")
@click.option(
    "--torch-index",
    default="",
    envvar="GRADER_TORCH_INDEX",
    help="Address of the package index with PyTorch for CPU; also as variable GRADER_TORCH_INDEX.",
)
@click.option(
    "--secret",
    "secret_file",
    type=PATHS,
    default=None,
    help="Put this course secret into the zip, so that inputs are the same as at home.  [default: one derived from it]",
)
@click.option("--include", type=PATHS, multiple=True, help="A file of the assignment that would be refused.")
@click.pass_obj
def gradescope_build(root: Path, /, **options: Any) -> None:
    """Write the zip to upload. It holds no submission, no earlier run and not the course secret."""
    from grader.places.gradescope.build import build

    build(root, **options)


@gradescope.command("run")
@click.argument("assignment")
@click.option("--tree", type=PATHS, default=Path("/autograder"), show_default=True, help="Gradescope's folder.")
@click.option(
    "--require-level",
    "floor",
    type=click.Choice(["A", "B", "C"]),
    default="B",
    show_default=True,
    help="Refuse to grade below this sandbox level.",
)
@click.pass_obj
def gradescope_run(root: Path, /, assignment: str, tree: Path, floor: str) -> None:
    """Grade the one submission that Gradescope laid out. The zip's run_autograder calls this."""
    from grader import clean_start

    clean_start.ensure()
    from grader.places.gradescope.run import run

    run(root, assignment, tree.resolve(), floor=floor)


@gradescope.command("simulate")
@click.argument("archive", metavar="ZIP", type=PATHS)
@click.argument("submission", type=PATHS)
@click.option("--metadata", type=PATHS, default=None, help="A submission_metadata.json.  [default: made up, in time]")
@click.option("--timeout", type=click.FloatRange(min=1), default=600.0, show_default=True, help="Seconds.")
@click.option("--keep", type=PATHS, default=None, help="A new folder for the whole tree, to look at afterwards.")
def gradescope_simulate(archive: Path, submission: Path, **options: Any) -> None:
    """Rehearse Gradescope: run the zip on a submission as its harness does, and show who sees what."""
    from grader.places.gradescope.simulate import simulate

    raise SystemExit(simulate(archive, submission, **options))


@click.group("github-classroom")
def github_classroom() -> None:
    """A template repository whose workflow runs the public checks."""


@github_classroom.command("build")
@click.argument("assignment")
@click.option("-o", "--output", type=PATHS, default=None, help="A new folder.  [default: build/github-ASSIGNMENT]")
@click.option("--torch-index", default="", envvar="GRADER_TORCH_INDEX", help="As for gradescope build.")
@click.option("--include", type=PATHS, multiple=True, help="A file of the assignment that would be refused.")
@click.pass_obj
def github_classroom_build(root: Path, /, assignment: str, **options: Any) -> None:
    """Write the files of the template repository. It holds nothing of the staff half."""
    from grader.places.github_classroom import build

    click.echo(build(root, assignment, **options))


@github_classroom.command("run")
@click.argument("assignment")
@click.argument("folder", type=PATHS)
@click.option("--output", type=PATHS, default=None, help="The file that GITHUB_OUTPUT names.")
@click.option("--summary", type=PATHS, default=None, help="The file that GITHUB_STEP_SUMMARY names.")
@click.pass_obj
def github_classroom_run(root: Path, /, assignment: str, folder: Path, **options: Any) -> None:
    """Run the public checks on a repository. The workflow calls this."""
    from grader import clean_start

    clean_start.ensure()
    from grader.places.github_classroom import run

    click.echo(run(root, assignment, folder, **options))


@click.group()
def prairielearn() -> None:
    """An external grader for PrairieLearn."""


@prairielearn.command("build")
@click.argument("assignment")
@click.option(
    "-o", "--output", type=PATHS, default=None, help="A new folder.  [default: build/prairielearn-ASSIGNMENT]"
)
@click.option("--torch-index", default="", envvar="GRADER_TORCH_INDEX", help="As for gradescope build.")
@click.option("--include", type=PATHS, multiple=True, help="A file of the assignment that would be refused.")
@click.pass_obj
def prairielearn_build(root: Path, /, assignment: str, **options: Any) -> None:
    """Write a Dockerfile, a folder for serverFilesCourse and an info.json to start from."""
    from grader.places.prairielearn import build

    click.echo(build(root, assignment, **options))


@prairielearn.command("run")
@click.argument("assignment")
@click.option("--tree", type=PATHS, default=Path("/grade"), show_default=True, help="PrairieLearn's folder.")
@click.option("--seconds", type=click.FloatRange(min=1), default=60.0, show_default=True, help="info.json's timeout.")
@click.option("--require-level", "floor", type=click.Choice(["A", "B", "C"]), default="B", show_default=True)
@click.pass_obj
def prairielearn_run(root: Path, /, assignment: str, tree: Path, **options: Any) -> None:
    """Grade the one submission that PrairieLearn laid out. run.sh calls this."""
    from grader import clean_start

    clean_start.ensure()
    from grader.places.prairielearn import run

    run(root, assignment, tree.resolve(), **options)


@click.command()
@click.argument("run", type=PATHS)
@click.option("-o", "--output", type=PATHS, default=None, help="The file.  [default: RUN/junit.xml]")
def junit(run: Path, output: Path | None) -> None:
    """Write a run's results as JUnit's XML, for services that read it. For staff."""
    from grader.places.junit import junit as document
    from grader.run_directory import RunDirectory, write

    directory = RunDirectory(run)
    target = output or run / "junit.xml"
    write(target, document(directory.reports(), directory.info().title))
    click.echo(target)


@click.command()
def schema() -> None:
    """Print the JSON Schema of results/SUBMISSION.json."""
    import msgspec

    from grader.results import json_schema

    click.echo(msgspec.json.format(msgspec.json.encode(json_schema())))


COMMANDS: tuple[click.Command, ...] = (gradescope, github_classroom, prairielearn, junit, schema)
