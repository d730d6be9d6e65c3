"""Work that comes from no learning system: one piece of work, a folder per student, or a file per student."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from grader.intake.entry import Collected, Draft, FileRef
from grader.intake.formats.form import Format, levels
from grader.intake.names import path_within, stem
from grader.intake.peek import defines, imports
from grader.intake.roster import Roster
from grader.intake.tree import Folder, Item
from grader.intake.wanted import Wanted
from grader.results import Person

_MOST_OF_ONE = 12
"""Files without an asked-for name that are still looked into for being one student's."""
_NOBODYS = (
    "It lies beside the students' folders, and its name does not say whose it is. "
    "If it is somebody's work, put it in a folder named after them."
)
_OF_A_PROJECT = frozenset({"src", "lib", "code", "test", "tests", "notebook", "notebooks", "data", "docs", "starter"})


def person_of(label: str) -> Person:
    """What a file or folder name alone says of a person."""
    return Person(
        id=label, name=label if " " in label else "", email=label if "@" in label and " " not in label else ""
    )


def _one(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    level = levels(root)[-1]
    works = _works(level, wanted)
    inside = [folder for folder in level.subfolders if _holds_work(folder, wanted)]
    named = [folder for folder in inside if _is_someones(folder, wanted)]
    if len(named) > 1:
        return None
    if inside:
        asked = [item for item in works if wanted.asked_for(item.name)]
        others = [folder.name for folder in inside if folder.name.lower() not in _OF_A_PROJECT]
        if asked:
            return root if len(others) < 3 or any(imports(item, others) for item in asked) else None
        return root if not works and not others else None
    return root if _belong_together(works, wanted, roster) else None


def _belong_together(works: list[Item], wanted: Wanted, roster: Roster) -> bool:
    """Whether files side by side are one student's: asked-for names with few others, or one that imports the rest."""
    others = [item for item in works if not wanted.asked_for(item.name)]
    if sum(roster.find_label(stem(item.name)) is not None for item in others) > 1:
        return False
    if len(others) < len(works):
        whole = (item for item in others if defines(item, wanted.function))
        return len(others) < 3 or len(list(islice(whole, 3))) < 3
    return len(works) <= _MOST_OF_ONE and any(
        imports(item, [stem(other.name) for other in works if other is not item]) for item in works
    )


def _collect_one(root: Folder, wanted: Wanted, roster: Roster) -> Collected:
    level = levels(root)[-1]
    works = _works(level, wanted)
    label = level.name
    if len(works) == 1 and not level.folders and not wanted.asked_for(works[0].name):
        label = stem(works[0].name)
    draft = Draft(label, [person_of(label)])
    draft.take(root)
    return Collected([draft])


def _folders(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    level = levels(root)[-1]
    return level if any(_holds_work(folder, wanted) for folder in level.subfolders) else None


def _collect_folders(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    found = Collected()
    for folder, section in _students(level, wanted):
        person = person_of(folder.name)
        draft = Draft(folder.name, [Person(id=person.id, name=person.name, email=person.email, section=section)])
        draft.take(folder)
        found.drafts.append(draft)
    for item in _works(level, wanted):
        if wanted.asked_for(item.name):
            found.explained.append((item, _NOBODYS))
        else:
            found.drafts.append(of_file(item))
    return found


def _files(root: Folder, wanted: Wanted, roster: Roster) -> Folder | None:
    level = levels(root)[-1]
    return level if _works(level, wanted) else None


def _collect_files(level: Folder, wanted: Wanted, roster: Roster) -> Collected:
    found = Collected([of_file(item) for item in _works(level, wanted)])
    for item in level.files:
        if not wanted.could_be_work(item.name):
            found.explained.append(
                (item, f"It is not a {wanted.endings} file. If it is somebody's work, ask for the code.")
            )
    return found


def of_file(item: Item) -> Draft:
    """A draft of one file, named after it."""
    label = stem(item.name)
    return Draft(label, [person_of(label)], [FileRef(path_within([item.name]), item)])


def _works(folder: Folder, wanted: Wanted) -> list[Item]:
    """Files directly in the folder that could be work, by name."""
    return sorted((item for item in folder.files if wanted.could_be_work(item.name)), key=lambda item: item.path)


def _holds_work(folder: Folder, wanted: Wanted) -> bool:
    return any(wanted.could_be_work(item.name) for item in folder.items())


def _is_someones(folder: Folder, wanted: Wanted) -> bool:
    return any(wanted.asked_for(item.name) for item in folder.items())


def _students(level: Folder, wanted: Wanted) -> Iterator[tuple[Folder, str]]:
    """The students' folders, each with its section: a folder of several people's folders is a section."""
    for folder in level.subfolders:
        inner = [child for child in folder.subfolders if any(wanted.asked_for(item.name) for item in child.files)]
        if not folder.files and len(inner) >= 2:
            for child in folder.subfolders:
                yield child, folder.name
        else:
            yield folder, ""


ONE = Format("one", "one submission", _one, _collect_one)
FOLDERS = Format("folders", "a folder per student", _folders, _collect_folders, lambda root: levels(root)[-2:][0])
FILES = Format("files", "a file per student", _files, _collect_files, lambda root: levels(root)[-1])
