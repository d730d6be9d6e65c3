"""Does what docs/adding-an-assignment.md tells an instructor to do, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.assignment import load
from grader.authoring.new import new
from grader.authoring.release import release

PAGE = Path(__file__).parent.parent / "docs" / "adding-an-assignment.md"
BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<kind>\w+)(?: title=(?P<title>\S+))?\n(?P<text>.*?)^(?P=fence)$", re.M | re.S)


def blocks() -> Iterator[tuple[str, str, str]]:
    """(kind, title, text) of each fenced block of the page."""
    for match in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        yield match["kind"], match["title"] or "", match["text"]


def follow(root: Path) -> list[str]:
    """Write the page's files under `root` and run its commands up to the release; the commands that are left."""
    left = []
    for kind, title, text in blocks():
        if title:
            (root / title).write_text(text, encoding="utf-8")
            continue
        for command in text.strip().split("\n") if kind == "sh" else ():
            if command == "grader new layer_norm":
                new("layer_norm", root)
            elif command == "grader release layer_norm":
                release(load("layer_norm", root))
            elif command.startswith("rm "):
                for path in (root / command.removeprefix("rm ").removesuffix("/*")).iterdir():
                    path.unlink()
            else:
                left.append(command)
    return left
