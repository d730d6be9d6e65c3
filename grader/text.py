"""Make text that a student wrote or printed safe to store, to show on a terminal and to put into a report.

Escaping for HTML, Markdown or CSV is the job of whatever writes that format; this only takes away what no
format should carry.
"""

from __future__ import annotations

import re
import unicodedata

CUT = "…"
"""Stands at the end of a text that was longer than its limit."""

# Whole terminal sequences, so that "\x1b[31m" leaves nothing, not "[31m". Each alternative runs at most to
# the end of its line: an unfinished sequence can't swallow the lines after it, and no input makes this slow.
_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movement
    # OSC (titles, links) and the other sequences that carry a string.
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_LINE_END = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_PLAIN = re.compile(r"[\t\n -~]*")
_UNUSUAL = re.compile(r"[^\t\n -~]")
_MARKS = re.compile(r"(?<=[\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]{4})[\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]+")
_COMMAND = re.compile(r"(?<=:)(?=:)|(?<=##)(?=\[)")
# The two joiners are ordinary spelling in Persian and several Indian scripts, so names need them.
_JOINERS = frozenset("\u200c\u200d")


def clean(text: str, limit: int) -> str:
    """At most `limit` characters of `text` without anything that acts rather than shows.

    Terminal sequences, control characters, NUL, text-direction and other invisible format characters and
    code points that are no characters are left out; each lone surrogate becomes U+FFFD, so the result can
    always be encoded; line ends become a newline; piles of accents that would cover other lines are thinned.
    Tabs and newlines stay. When the text was cut, its last character is `CUT`.
    """
    if len(text) <= limit and _PLAIN.fullmatch(text):  # as nearly every text is; all that follows would find nothing
        return text
    # What is dropped can't be most of an honest text; the slack only keeps a flood from costing time.
    head = text[: 4 * limit + 64]
    head = _LINE_END.sub("\n", head)
    head = _TERMINAL.sub("", head)
    head = _MARKS.sub("", _UNUSUAL.sub(_shown, head))
    if len(head) > limit or len(text) > 4 * limit + 64:
        return head[: max(0, limit - len(CUT))] + CUT[:limit]
    return head


def for_terminal(text: str, limit: int) -> str:
    """`clean`, for what is printed: continuous-integration services obey lines that begin with `::` or `##[`.

    They skip blanks first, and a table wraps where it likes, so the marks are broken up wherever they stand.
    """
    return _COMMAND.sub(" ", clean(text, limit))


def _shown(match: re.Match[str]) -> str:
    character = match.group()
    category = unicodedata.category(character)
    if category == "Cs":
        return "\ufffd"
    if category in {"Cc", "Cn", "Co"} or (category == "Cf" and character not in _JOINERS):
        return ""
    return character
