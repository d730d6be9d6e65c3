"""Text that stays text in Markdown, whoever wrote it."""

from __future__ import annotations

import functools
import re

# What could start a construct inside a line. "_" inside a word is harmless, so d_k stays readable.
_SPECIAL = re.compile(r"[\\`*\[\]<>|~$#]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|&(?=[#0-9A-Za-z])|!(?=\[)")
_START = re.compile(r"^[-+=:]|^\d+(?=[.)])")
_LINK = re.compile(r"(?i)\b(?:https?|ftp|mailto|xmpp)(?=:)|\bwww(?=\.)")
_AT = re.compile(r"@(?=\w)")
CODE = re.compile(r"`([^`\n]+)`")
EMPHASIS = re.compile(r"(?<![\w*\\])\*(\w(?:[^*\n]*\w)?)\*(?![\w*])")
"""The two marks that authors may use in their words: `code` and *emphasis*."""
_JOINER = "\u2060"
"""Invisible; stands where some readers would otherwise see an address and make a link of it."""


@functools.lru_cache(maxsize=1024)  # an assignment's words stand in every student's report
def prose(text: str) -> str:
    """`text` as one line of plain words, in which `code` and *emphasis* mean what they say.

    No link, picture, HTML, heading, list or table can come of it.
    """
    pieces = CODE.split(" ".join(text.split()))
    made = "".join(span(piece) if at % 2 else _words(piece) for at, piece in enumerate(pieces))
    return _START.sub(_guard, made)


def span(text: str) -> str:
    """`text` as code within a line, whatever backticks it holds."""
    text = " ".join(text.split())
    if not text:
        return ""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fence(text: str, language: str = "") -> str:
    """`text` as a block of code: the fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def framed(text: str) -> str:
    """Student text as a block with a rule before each line: no line of it can pass for one of ours.

    That also keeps `::` from the start of a line, where the log of a build service would obey it.
    """
    return fence("\n".join(f"│ {line}" for line in text.split("\n")), "text")


def _words(text: str) -> str:
    pieces = EMPHASIS.split(text)
    return "".join(f"*{_escape(piece)}*" if at % 2 else _escape(piece) for at, piece in enumerate(pieces))


def _escape(text: str) -> str:
    text = _SPECIAL.sub(r"\\\g<0>", text)
    text = _LINK.sub(lambda match: match.group() + _JOINER, text)
    return _AT.sub("@" + _JOINER, text)


def _guard(match: re.Match[str]) -> str:
    # Of a number, it is the point or bracket after it that is escaped.
    return f"{match.group()}\\" if match.group().isdigit() else f"\\{match.group()}"
