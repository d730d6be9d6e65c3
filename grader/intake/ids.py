"""Ids for submissions: safe as file names on every system, unique in a run, and the same every time."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from grader.intake.names import fold

LONGEST = 80
"""Bytes: leaves room for endings below the 143 that the strictest file systems allow."""
_RESERVED = re.compile(r"^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)", re.IGNORECASE)


def slug(label: str) -> str:
    """The label as a file name: letters of any script, digits, "-", "_" and "." stay, all else becomes "-"."""
    text = unicodedata.normalize("NFC", label)
    kept = "".join(letter if _stays(letter) else "-" for letter in text)
    kept = re.sub(r"-{2,}", "-", kept)
    kept = re.sub(r"\.{2,}", ".", kept).strip("-. ")
    if not re.search(r"[^\W_]", kept):
        return f"student-{_short(label)}"
    if _RESERVED.match(kept):
        kept = f"_{kept}"
    return kept if len(kept.encode()) <= LONGEST else f"{_cut(kept, LONGEST - 9)}-{_short(label)}"


class Ids:
    """Hands out ids; two labels that some file system can't tell apart get different ones."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def give(self, label: str) -> str:
        """An id for the label: its slug, or the slug with -2, -3, ... when that is taken."""
        base = slug(label)
        candidate, number = base, 1
        while fold(candidate) in self._taken:
            number += 1
            candidate = f"{_cut(base, LONGEST - 8)}-{number}"
        self._taken.add(fold(candidate))
        return candidate


def _stays(letter: str) -> bool:
    return letter in "-_." or unicodedata.category(letter)[0] in "LMN"


def _short(label: str) -> str:
    return hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _cut(text: str, most: int) -> str:
    """The longest beginning of at most so many bytes that ends at a whole character."""
    return text.encode()[:most].decode(errors="ignore").rstrip("-. ")
