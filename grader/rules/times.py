"""Times as other programs write them, and as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta

from grader.errors import UsageError

_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))


def parse_time(value: object) -> datetime | None:
    """A time as a YAML reader, a JSON file or a text gives it: ISO 8601, with or without zone, "Z" or "UTC"."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip().replace(" UTC", "+00:00").replace(" Z", "+00:00")
    if text.endswith("Z"):
        text = text[:-1] + "+00:00"
    head, dot, tail = text.partition(".")
    if dot:  # Python 3.10 takes three or six digits of a second, nothing else
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[:digits][:6].ljust(6, '0')}{tail[digits:].strip()}"
    elif " +" in text or " -" in text:
        text = text.replace(" +", "+").replace(" -", "-")
    if len(text) > 5 and text[-5] in "+-" and text[-4:].isdigit():
        text = f"{text[:-2]}:{text[-2:]}"
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def moment(text: str, key: str) -> datetime:
    """The aware time that an ISO 8601 text means. Raises UsageError naming `key` when it has no UTC offset or is none.

    An offset is asked for because a due date without one is another moment on each machine.
    """
    when = parse_time(text)
    if when is None:
        raise UsageError(f"{key}: {text!r} is not a time. Write it as 2026-03-02T23:59:00+01:00.")
    if when.tzinfo is None:
        whole = text if "T" in text or " " in text.strip() else f"{text}T23:59:00"
        raise UsageError(f"{key}: {text!r} does not say which time zone it is in. Add the offset: {whole}+01:00.")
    return when


def in_words(span: timedelta) -> str:
    """A length of time by its two largest units: "2 days 3 hours", "5 minutes", "less than a minute"."""
    seconds = int(span.total_seconds())
    parts: list[str] = []
    for name, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}{'s' if count > 1 else ''}")
        elif parts:
            break
    return " ".join(parts[:2]) or "less than a minute"


def date_words(when: datetime) -> str:
    """ "2026-03-02 23:59 +01:00" of an aware time."""
    offset = when.strftime("%z")
    return f"{when:%Y-%m-%d %H:%M} {offset[:3]}:{offset[3:5]}"
