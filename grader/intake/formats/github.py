"""GitHub Classroom: `gh classroom clone student-repos` puts SLUG-USER for each student in SLUG-submissions/."""

from __future__ import annotations

from grader.intake.entry import Collected, Draft
from grader.intake.formats.form import Format, levels
from grader.intake.names import shared_beginning
from grader.intake.roster import Roster
from grader.intake.tree import Folder
from grader.intake.wanted import Wanted
from grader.results import Person

_ENDING = "-submissions"


def _recognise(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    for level in levels(root):
        if _slug(level) or _clones(level):
            return level
    return None


def _slug(level: Folder) -> str:
    """The assignment's part of the repositories' names, with its "-"; "" when the folder is not named after it."""
    name = level.name.lower()
    slug = f"{name[: -len(_ENDING)]}-" if name.endswith(_ENDING) else ""
    return slug if slug and any(folder.name.lower().startswith(slug) for folder in level.subfolders) else ""


def _clones(level: Folder) -> bool:
    """Whether it holds clones of repositories whose names share a beginning."""
    repositories = [folder for folder in level.subfolders if ".git/" in folder.junk]
    return len(repositories) > 1 and bool(shared_beginning([folder.name for folder in repositories], "-"))


def _collect(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    found = Collected()
    slug = _slug(level) or shared_beginning([folder.name for folder in level.subfolders], "-")
    for folder in level.subfolders:
        user = folder.name[len(slug) :] if folder.name.lower().startswith(slug.lower()) else folder.name
        draft = Draft(user or folder.name, [Person(id=user or folder.name)])
        draft.notes.append(f"Repository {folder.name}.")
        draft.take(folder)
        found.drafts.append(draft)
    return found


FORMAT = Format("github", "clones of GitHub Classroom's repositories", _recognise, _collect)
