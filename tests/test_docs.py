"""Docs and code say the same: every verb, setting, marker and link of the one is in the other."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import msgspec
import pytest

from grader import checks, expect
from grader.assignment import Late, Limits, Settings
from grader.cli import cli
from grader.entry import Entry
from grader.intake.scan import SOURCES
from grader.student import Student

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
EVERYTHING = "\n".join(path.read_text(encoding="utf-8") for path in DOCS)


def verbs(group: click.Group, prefix: str = "") -> list[str]:
    """Every command that can be typed, groups opened up."""
    found: list[str] = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += verbs(command, f"{prefix}{name} ")
        else:
            found.append(prefix + name)
    return found


@pytest.mark.parametrize("verb", verbs(cli))
def test_every_verb_is_documented(verb: str) -> None:
    """A command that nobody reads about does not exist for its users."""
    assert f"grader {verb}" in EVERYTHING


@pytest.mark.parametrize("struct", [Settings, Limits, Late, Entry], ids=lambda struct: struct.__name__)
def test_every_setting_is_documented(struct: type[msgspec.Struct]) -> None:
    """Each key of assignment.toml is explained to authors."""
    authors = (ROOT / "docs" / "adding-an-assignment.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`\[?(\w+)[.\w]*\]?`", authors))
    assert [name for name in struct.__struct_fields__ if name not in told] == []


def test_every_expectation_is_documented() -> None:
    """writing-checks shows each function of `expect` that a check may call, and each public name of `checks`."""
    authors = (ROOT / "docs" / "writing-checks.md").read_text(encoding="utf-8")
    names = ("true", "shape", "dtype", "real", "close", "zero", "equal", "unchanged", "stays_on_device", "case")
    assert all(callable(getattr(expect, name)) for name in names)
    assert [name for name in names if f"expect.{name}" not in authors] == []
    assert [name for name in checks.__all__ if name not in authors] == []


def test_every_way_to_ask_is_documented() -> None:
    """writing-checks shows what a check can do with `student`, and every setting of `@points`."""
    authors = (ROOT / "docs" / "writing-checks.md").read_text(encoding="utf-8")
    ways = [name for name in vars(Student) if not name.startswith("_") and name != "asked"]  # that is the grader's own
    settings = [name for name in inspect.signature(checks.points).parameters if name != "worth"]
    assert {"later", "last"} <= set(ways)
    assert [name for name in ways if f"student.{name}" not in authors] == []
    assert [name for name in settings if not re.search(rf"`{name}`|\b{name}=", authors)] == []


def test_every_source_of_submissions_is_documented() -> None:
    """What `grade --from` takes is said where an instructor reads how to grade a download."""
    course = (ROOT / "docs" / "running-a-course.md").read_text(encoding="utf-8")
    assert [name for name in SOURCES if name != "auto" and f"`{name}`" not in course] == []


def test_the_public_names_of_checks_stay() -> None:
    """What authors import is a promise: changing it breaks every course's checks."""
    assert checks.__all__ == ["CheckFailure", "expect", "points", "vjp"]


def test_makefile_targets_are_what_the_docs_promise() -> None:
    """Every `make` command in the docs is a target."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    promised = set(re.findall(r"^ {4}make ([a-z-]+)", EVERYTHING, re.M))
    assert {"setup", "grade", "test", "help"} <= targets
    assert promised <= targets


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """A relative link in the docs names a file that is there."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text)
    local = [link for link in links if not link.startswith(("http", "mailto"))]
    assert [link for link in local if not (path.parent / link).exists()] == []


def test_commands_in_the_readme_exist() -> None:
    """Each `grader ...` line of the README starts with a verb."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    typed = re.findall(r"^ {4}grader ([a-z-]+(?: (?:build|run|simulate))?)", readme, re.M)
    assert typed
    known = verbs(cli)
    assert [verb for verb in typed if verb not in known and verb.split()[0] not in known] == []


def test_nothing_names_a_place_on_one_machine() -> None:
    """The project holds no path of the machine that it was written on."""
    paths = [path for path in ROOT.glob("**/*") if path.suffix in {".py", ".md", ".toml", ".j2", ".sh"}]
    own = [path for path in paths if not {".venv", "build", "runs"} & set(path.relative_to(ROOT).parts)]
    needles = ["/" + "work" + "/main", "/" + "root" + "/."]
    assert own
    assert [str(path) for path in own if any(needle in path.read_text(errors="replace") for needle in needles)] == []
