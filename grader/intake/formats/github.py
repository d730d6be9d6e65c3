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
        if level.folders and (level.name.lower().endswith(_ENDING) or _clones(level)):
            return level
    return None


def _clones(level: Folder) -> bool:
    """Whether it holds clones of repositories whose names share a beginning."""
    repositories = [folder for folder in level.subfolders if ".git/" in folder.junk]
    return len(repositories) > 1 and bool(shared_beginning([folder.name for folder in repositories], "-"))


def _collect(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    found = Collected()
    names = [folder.name for folder in level.subfolders]
    slug = f"{level.name[: -len(_ENDING)]}-" if level.name.lower().endswith(_ENDING) else ""
    if not slug or not any(name.startswith(slug) for name in names):
        slug = shared_beginning(names, "-") if _clones(level) else ""
    for folder in level.subfolders:
        user = folder.name[len(slug) :] if folder.name.startswith(slug) else folder.name
        draft = Draft(user or folder.name, [Person(id=user or folder.name)])
        draft.notes.append(f"Repository {folder.name}.")
        draft.take(folder)
        found.drafts.append(draft)
    return found


FORMAT = Format("github", "clones of GitHub Classroom's repositories", _recognise, _collect)
