"""Brightspace's download of a dropbox: a folder per submission, "USER-FOLDER - WHO - TIME", or that before a file name.

WHO differs between institutions: a name, a user name and a name, or a number and a name. The time has lost its
colon: "1053 PM" is 22:53.
"""

from __future__ import annotations

import re
from datetime import datetime

from grader.intake.attempts import Attempt, keep_latest
from grader.intake.entry import Collected, Draft, FileRef
from grader.intake.formats.form import Format, levels
from grader.intake.names import path_within
from grader.intake.roster import Roster
from grader.intake.tree import Folder, Item
from grader.intake.wanted import Wanted
from grader.results import Person

_TIME = r"(?:[^\W\d]{3,12}\.? \d{1,2},? \d{4}|\d{1,2} [^\W\d]{3,12}\.? \d{4}),? \d{1,2}:?\d{2}(?: ?[AaPp]\.?[Mm]\.?)?"
_NAME = re.compile(rf"^(?P<user>\d+)-(?P<box>\d+) - (?P<who>.+?) ?- (?P<time>{_TIME})(?: - (?P<file>.+))?$", re.DOTALL)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNKNOWN = "Its name is not one that Brightspace gives to a submission, so it does not say whose it is."
_SUMMARY = "Brightspace's own overview, not graded."


def _recognise(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    for level in levels(root):
        names = [*(folder.name for folder in level.subfolders), *(item.name for item in level.files)]
        if any(_NAME.match(name) for name in names):
            return level
    return None


def _collect(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    explained: list[tuple[Item, str]] = []
    attempts: dict[tuple[str, str], Attempt] = {}
    for folder in level.subfolders:
        if match := _NAME.match(folder.name):
            _attempt(attempts, match).draft.take(folder)
        else:
            explained += [(item, _UNKNOWN) for item in folder.items()]
    for item in sorted(level.files, key=lambda item: item.path):
        match = _NAME.match(item.name)
        if match and match["file"]:
            _attempt(attempts, match).draft.files.append(FileRef(path_within([match["file"]]), item))
        else:
            explained.append((item, _SUMMARY if item.name.lower() == "index.html" else _UNKNOWN))
    found = keep_latest(list(attempts.values()), wanted.zone, wanted.attempts)
    found.explained += explained
    return found


def _attempt(attempts: dict[tuple[str, str], Attempt], match: re.Match[str]) -> Attempt:
    whose = f"{match['user']} {match['who']}"
    key = (whose, match["time"])
    if key not in attempts:
        person = _person(match["who"])
        attempts[key] = Attempt(whose, match["time"], _time(match["time"]), Draft(person.id, [person]))
    return attempts[key]


def _person(who: str) -> Person:
    """ "jdoe Jane Doe" and "u123 Doe" begin with a user name; "Jane Doe" is a name alone."""
    first, _, rest = who.partition(" ")
    if rest and (first == first.lower() or any(letter.isdigit() for letter in first)) and first.isascii():
        return Person(id=first, name=rest)
    return Person(id=who, name=who)


def _time(text: str) -> datetime | None:
    """The moment, without a zone; None when the month is in a language that is not known."""
    words = re.findall(r"[^\W\d]+|\d+", text)
    months = [_MONTHS.index(word[:3].lower()) + 1 for word in words if word[:3].lower() in _MONTHS]
    numbers = [int(word) for word in words if word.isdigit()]
    if not months or len(numbers) not in (3, 4):
        return None
    day, year = numbers[:2]
    hour, minute = divmod(numbers[2], 100) if len(numbers) == 3 else (numbers[2], numbers[3])
    half = re.search(r"([ap])\.?m", text, re.IGNORECASE)
    if half:
        hour = hour % 12 + (12 if half[1].lower() == "p" else 0)
    try:
        return datetime(year, months[0], day, hour, minute)  # Brightspace writes no zone
    except ValueError:
        return None


FORMAT = Format("brightspace", "a download of a dropbox from Brightspace", _recognise, _collect)
