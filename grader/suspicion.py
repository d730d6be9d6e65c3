"""Lines of a submission that reach for the machinery around it. For staff to look at; they never change a mark.

Read as text, in the marker, which compiles nothing of a student's. Who wants to hide such a line can: what a student's
process says about inputs, devices and operators is its own word, and these are the plain ways to make it lie.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.reading.source import Sources
from grader.results import Flag, Place
from grader.text import clean

MOST = 5
"""Flags for one submission."""
_LONGEST_LINE = 2000

_WAYS = (
    (r"(?:import|from)\s+grader\b|['\"]grader[.'\"]", "names the grader's own modules"),
    (
        r"\bsys\s*\.\s*(?:modules|_getframe|settrace|setprofile|meta_path)\b",
        "looks into or changes what Python has loaded",
    ),
    (r"\bgc\s*\.\s*get_(?:objects|referrers|referents)\b", "looks through all objects in memory"),
    (r"\b(?:currentframe|f_back|f_globals|f_locals|tb_frame|gi_frame)\b", "looks at the functions that called it"),
    (r"__(?:globals|subclasses|code|closure|builtins)__", "looks inside functions and classes that are not its own"),
    (r"\b(?:import|from)\s+(?:ctypes|cffi|socket|subprocess|multiprocessing|signal|resource|mmap)\b", "imports {0}"),
    (
        r"\bos\s*\.\s*(?:_exit|fork\w*|kill\w*|exec\w+|spawn\w+|system|popen|dup2?|abort|close(?:range)?|fstat|write|read)\b",
        "uses {0}",
    ),
    (r"/proc/|/dev/shm|/autograder|test_hidden|run_autograder", "names {0}"),
    (r"\bsetattr\s*\(\s*torch\b|^\s*torch(?!\.backends\b)(?:\.\w+)+\s*=(?!=)", "replaces a part of the library"),
)
_PATTERNS = tuple((re.compile(pattern), words) for pattern, words in _WAYS)
_ANY = re.compile("|".join(pattern for pattern, _ in _WAYS), re.MULTILINE)
"""Finds nothing in most submissions, and then no line needs a look."""


def flags(sources: Sources) -> list[Flag]:
    """At most `MOST` flags, in the order of the source."""
    found: list[Flag] = []
    for flag in _all(sources):
        if len(found) == MOST:
            break
        found.append(flag)
    return found


def _all(sources: Sources) -> Iterator[Flag]:
    for unit in sources.originals or sources.units:
        if not _ANY.search(unit.source):
            continue
        for number, line in enumerate(unit.source.split("\n"), 1):
            code = line[:_LONGEST_LINE]
            if code.lstrip().startswith("#"):
                continue
            for pattern, words in _PATTERNS:
                match = pattern.search(code)
                if match:
                    what = words.format(f"`{clean(match[0], 60)}`")
                    place = Place(file=unit.file, line=number, cell=unit.cell, text=clean(code.strip(), 200))
                    yield Flag(
                        id="reaches-out", message=f"This line {what}. Most likely harmless; look at it.", place=place
                    )
                    break
