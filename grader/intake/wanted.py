"""What an assignment wants to receive, as intake asks about it: which names could be work, and how much may come."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

from grader.assignment import Settings
from grader.intake.names import listed, stem

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
MEGABYTE = 1 << 20
_NOTEBOOK_MB = 100
_TOTAL_MB = 200
_RENAMED = (".txt", ".json")
_NUMBERED = re.compile(r"(?:-\d{1,3}| ?\(\d{1,3}\))$")
_OTHER_ARCHIVES = (".rar", ".7z", ".gz", ".bz2", ".xz", ".tar.bz2", ".tar.xz", ".tbz2", ".txz")
_DOCUMENTS = (".pdf", ".docx", ".doc", ".odt", ".rtf", ".html", ".htm", ".png", ".jpg", ".jpeg", ".pages")


@dataclass(frozen=True)
class Wanted:
    """The rules of one assignment for what is handed in."""

    accepts: tuple[str, ...]
    """Endings of files that hold code, in lower case."""
    function: str
    """The name of what students write."""
    names: tuple[str, ...]
    """The names that the handout asks for."""
    most_files: int
    most_bytes: int
    """Of one file that is no notebook."""
    zone: tzinfo | None
    """Where the course's clocks stand, for times that are written without a zone."""
    attempts: int = 0
    """How many of one student's attempts count; 0 means all."""

    @classmethod
    def of(cls, settings: Settings) -> Wanted:
        zone: tzinfo | None = None
        if settings.late.due:
            try:
                zone = datetime.fromisoformat(settings.late.due.replace("Z", "+00:00")).tzinfo
            except ValueError:
                zone = None  # a wrong date is reported where lateness is worked out
        return cls(
            accepts=tuple(ending.lower() for ending in settings.accepts),
            function=settings.entry.function,
            names=tuple(settings.files),
            most_files=settings.limits.files,
            most_bytes=settings.limits.file_mb * MEGABYTE,
            zone=zone,
            attempts=settings.late.attempts,
        )

    @property
    def most_in_all(self) -> int:
        """Bytes of one submission."""
        return max(_TOTAL_MB * MEGABYTE, self.most_bytes)

    def most_of(self, path: str) -> int:
        """Bytes that a file of this name may have: saved pictures make notebooks large, which no student controls."""
        return max(self.most_bytes, _NOTEBOOK_MB * MEGABYTE) if path.lower().endswith(".ipynb") else self.most_bytes

    def code_name(self, path: str) -> str:
        """The path under which a file counts as code, or "" when it is none.

        Endings are put in lower case, and one that a browser added ("attention.py.txt") is taken off again.
        """
        lower = path.lower()
        for ending in self.accepts:
            if lower.endswith(ending):
                return path[: -len(ending)] + ending
            for added in _RENAMED:
                if lower.endswith(ending + added):
                    return path[: -len(ending) - len(added)] + ending
        return ""

    def could_be_work(self, name: str) -> bool:
        """Whether a file of this name could hold code: by itself, or packed."""
        return bool(self.code_name(name)) or is_archive(name)

    def asked_for(self, name: str) -> str:
        """The asked-for name that this one stands for: itself, another case, or numbered by a browser; else ""."""
        code = self.code_name(name)
        head, ending = stem(code), code[len(stem(code)) :]
        for wanted in self.names:
            if wanted.lower() in (code.lower(), (_NUMBERED.sub("", head) + ending).lower()):
                return wanted
        return ""

    @property
    def endings(self) -> str:
        return " or ".join(self.accepts)

    @property
    def request(self) -> str:
        """What to hand in, in words."""
        return " or ".join(self.names) if self.names else f"a {self.endings} file"

    def nothing_usable(self, names: list[str], junk: list[str], refused: list[str]) -> str:
        """Why files of these names, beside junk and what had to be left out, hold nothing to grade; and the mend."""
        if not names and refused:
            return refused[0]
        if not names and junk:
            return (
                f"There is only what a computer makes by itself ({listed(sorted(junk))}), and not your own file. "
                f"Hand in {self.request}."
            )
        if not names:
            return f"Nothing was handed in: there is no file. Hand in {self.request}."
        shown = listed(sorted(names))
        if any(name.lower().endswith(_OTHER_ARCHIVES) for name in names):
            return (
                f"There is no {self.endings} file that can be read, only {shown}. An archive of this kind can't be "
                f"opened here. Hand in {self.request} itself, or pack it as an ordinary .zip."
            )
        if any(name.lower().endswith(_DOCUMENTS) for name in names):
            return (
                f"There is no {self.endings} file, only {shown}. A document or a picture can't be run. "
                f"Hand in {self.request}, the file that you wrote the code in."
            )
        return f"There is no {self.endings} file, only {shown}. Hand in {self.request}."


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVES)
