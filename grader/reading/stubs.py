"""How much of an exercise a source text holds, judged by its text alone: the marker never parses students' code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from grader.entry import Entry

WRITTEN, ALIAS, STUB, SOME, NONE = 4, 3, 2, 1, 0
"""The function, written; an import of it, or something that may be meant as it; its stub; any function; nothing."""

_LONGEST_LINE = 500
_LONGEST_BODY = 20_000
_MOST_BODIES = 50
_DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_LEAVINGS = re.compile(r"raise\s+NotImplementedError(?:\s*\([^)\n]*\))?|\bpass\b|\.\.\.|;")


def holds(text: str, entry: Entry) -> int:
    """One of WRITTEN, ALIAS, STUB, SOME, NONE."""
    bodies = list(_bodies(text, entry.function))
    margin = [line for line in text.split("\n") if entry.function in line and len(line) <= _LONGEST_LINE]
    if any(not _is_stub(body) for body in bodies) or any(_assigns(line, entry.function) for line in margin):
        return WRITTEN
    names = {found[1].lower() for found in _DEFINES.finditer(text)}
    if any(alias.lower() in names for alias in entry.aliases) or any(_imports(line, entry.function) for line in margin):
        return ALIAS
    if bodies:
        return STUB
    return SOME if names else NONE


def _assigns(line: str, name: str) -> bool:
    return re.match(rf"{re.escape(name)}[ \t]*=[^=]", line) is not None


def _imports(line: str, name: str) -> bool:
    return line.startswith("from ") and name in re.split(r"\W+", line.partition(" import ")[2])


def _bodies(text: str, name: str) -> Iterator[Sequence[str]]:
    """The lines of the body of each `def name`, wherever it stands."""
    heads = re.finditer(rf"^([ \t]*)(?:async[ \t]+)?def[ \t]+{re.escape(name)}[ \t]*\(", text, flags=re.MULTILINE)
    for found in itertools.islice(heads, _MOST_BODIES):
        colon = _end_of_head(text, found.end())
        first, *rest = text[colon + 1 : colon + _LONGEST_BODY].split("\n")
        body = [first]
        for line in rest:
            indent = len(line) - len(line.lstrip())
            if line.strip() and not line.lstrip().startswith("#") and indent <= len(found[1]):
                break
            body.append(line)
        yield body


def _end_of_head(text: str, at: int) -> int:
    """Where the colon of a `def` stands whose "(" ends at `at`; there or thereabouts in text that is broken."""
    depth = 1
    for found in re.compile(r"[()\[\]{}:]").finditer(text, at, at + 5_000):
        character = found[0]
        if character == ":" and depth == 0:
            return found.start()
        depth += (character in "([{") - (character in ")]}")
    return at


def _is_stub(body: Sequence[str]) -> bool:
    """Whether nothing is left without texts in triple quotes, comments, pass, ... and NotImplementedError."""
    code = re.sub(r'""".*?"""|\'\'\'.*?\'\'\'', "", "\n".join(body), flags=re.DOTALL)
    code = re.sub(r"#[^\n]*", "", code)
    return not _LEAVINGS.sub("", code).strip()
