"""Names as others wrote them: which are safe to place, how they are shown, and when two are the same to a computer."""

from __future__ import annotations

import re
import unicodedata

LONGEST_PATH = 4096
"""Bytes; what no system goes beyond."""
DEEPEST = 40
"""Folders in folders; honest work stays far below, and a recursion has to end somewhere."""
_DRIVE = re.compile(r"^[A-Za-z]:[/\\]")
_TURNING = set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class RefusedName(ValueError):
    """A name that leads outside the archive it stands in. The text says how, and what to do about it."""


def visible(text: str) -> str:
    """The text without what can't be stored or would deceive the eye.

    Control characters, marks that turn the reading direction, and bytes that are no text become U+FFFD.
    """
    return "".join(
        "\ufffd" if unicodedata.category(letter) in ("Cc", "Cs") or letter in _TURNING else letter for letter in text
    )


def parts(raw: str) -> tuple[str, ...]:
    """The folders and the file that an archive's member name stands for; backslashes part names too.

    Raises RefusedName for a name that is absolute, climbs out with "..", or is beyond every system's limits.
    """
    shown = visible(raw if len(raw) <= 80 else raw[:77] + "...")
    if "\0" in raw:
        raise RefusedName(f"The name “{shown}” holds a zero byte. Rename the file and pack it again.")
    if _DRIVE.match(raw) or raw.startswith(("/", "\\")):
        raise RefusedName(
            f"“{shown}” names a place on one computer, not a place in the archive. "
            "Make a new .zip of your file and hand that in."
        )
    names = tuple(name for name in raw.replace("\\", "/").split("/") if name not in ("", "."))
    if ".." in names:
        raise RefusedName(f"“{shown}” leads outside the archive. Make a new .zip of your file and hand that in.")
    if len(names) > DEEPEST or len(raw.encode("utf-8", "surrogateescape")) > LONGEST_PATH:
        raise RefusedName(f"“{shown}” is too long, or lies too deep in folders. Pack only the files asked for.")
    return names


def path_within(names: tuple[str, ...] | list[str]) -> str:
    """The path of a file inside its submission: composed accents (NFC), "/" between the parts."""
    return unicodedata.normalize("NFC", visible("/".join(names)))


def fold(path: str) -> str:
    """Equal for two paths that some computer can't tell apart: other case, or accents written another way."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())


def stem(name: str) -> str:
    """A file's name without its ending: "ada.tar.gz" and "ada.py" are both "ada"."""
    lower = name.lower()
    for ending in (".tar.gz", ".tar.bz2", ".tar.xz"):
        if lower.endswith(ending):
            return name[: -len(ending)]
    head, dot, _ = name.rpartition(".")
    return head if dot and head else name


def shared_beginning(names: list[str], divider: str) -> str:
    """What all names begin with, as far as the last divider in it; "" for fewer than two different names."""
    first, last = min(names, default=""), max(names, default="")
    length = next((place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), 0)
    return first[: first[:length].rfind(divider) + 1]


def listed(names: list[str], most: int = 5) -> str:
    """The names in words: "a, b and 3 more"."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
