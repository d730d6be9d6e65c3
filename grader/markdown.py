"""Text that stays text in Markdown, whoever wrote it."""

from __future__ import annotations

import re

# What could start a construct inside a line. "_" inside a word is harmless, so d_k stays readable.
_SPECIAL = re.compile(r"[\\`*\[\]<>|~$#]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|&(?=[#0-9A-Za-z])|!(?=\[)")
_BLOCK = re.compile(r"^([ \t]*)([-+=:]|\d+(?=[.)]))", re.MULTILINE)
_LINK = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp)(?=:)|\b(www)(?=\.)")
_AT = re.compile(r"@(?=\w)")
_CODE = re.compile(r"`([^`\n]+)`")


def escape(text: str) -> str:
    """`text` as plain words: no link, picture, HTML, heading, list, table or emphasis can come of it."""
    text = _SPECIAL.sub(r"\\\g<0>", text)
    text = _BLOCK.sub(_guard, text)
    text = _LINK.sub(lambda match: match.group() + "\u2060", text)
    return _AT.sub("@\u2060", text)


def prose(text: str) -> str:
    """Like `escape`, but what stands between backticks becomes code. Line breaks become spaces."""
    pieces = _CODE.split(" ".join(text.split()))
    return "".join(span(piece) if at % 2 else escape(piece) for at, piece in enumerate(pieces))


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


def _guard(match: re.Match[str]) -> str:
    # Leading blanks go too: four of them would make a block of code. Of a number, the point after it is escaped.
    mark = match.group(2)
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"
