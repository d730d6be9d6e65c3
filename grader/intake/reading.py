"""From an entry to its Submission: contents are read here, and archives are looked into."""

from __future__ import annotations

import io
from functools import partial

from grader.errors import ReadError
from grader.intake import tars, zips
from grader.intake.disk import LINK, SPECIAL
from grader.intake.entry import Entry
from grader.intake.gather import Gathering, refuse_bomb
from grader.intake.junk import junk_within
from grader.intake.names import RefusedName, listed, parts, path_within, visible
from grader.intake.tree import Item, Unreadable
from grader.intake.wanted import Wanted, is_archive
from grader.submission import Submission

_MOST_ARCHIVES_DEEP = 2
_LIST_MB = 4


def read(entry: Entry, wanted: Wanted) -> Submission:
    """The entry with its contents. Never raises for what a student did: that becomes the submission's problem.

    Raises ReadError when this machine can't read what is there.
    """
    if entry.fault:
        raise ReadError(entry.fault)
    gathering = Gathering(wanted)
    problem = entry.problem
    if not problem:
        try:
            _add(gathering, [(reference.path, reference.item) for reference in entry.files], "", depth=0)
            gathering.check()
        except Unreadable as reason:
            problem = str(reason)
    return Submission(
        id=entry.id,
        files=[] if problem else gathering.files,
        people=list(entry.people),
        submitted_at=entry.submitted_at,
        problem=problem,
        notes=[*entry.notes, *gathering.notes],
        attempt=entry.attempt,
        attempts=entry.attempts,
        former=entry.former,
    )


def _add(to: Gathering, items: list[tuple[str, Item]], prefix: str, depth: int) -> None:
    """Read files, and what archives among them hold, `depth` archives deep. Raises Unreadable.

    A lone archive's contents keep their paths below `prefix`; others' are put below the archive's own name. Code
    comes first and archives last, so that what is wrong with the rest does not keep the code from being graded.
    """
    for path, item in sorted(items, key=lambda one: (is_archive(one[0]), not to.wanted.code_name(one[0]))):
        if is_archive(path):
            to.attempt(path, partial(_open, to, path, item, prefix if len(items) == 1 else f"{path}/", depth))
        else:
            to.keep(path, item.size, partial(item.store.open, item.key), item)


def _open(to: Gathering, path: str, item: Item, prefix: str, depth: int) -> None:
    if item.defect:
        raise Unreadable(item.defect)
    refuse_bomb(path, item)
    data = to.pour(partial(item.store.open, item.key), path, to.wanted.most_in_all)
    _unpack(to, path, data, prefix, depth + 1)


def _unpack(to: Gathering, shown: str, data: bytes, prefix: str, depth: int) -> None:
    """Add what the archive holds, below `prefix`. Raises Unreadable."""
    if depth > _MOST_ARCHIVES_DEEP:
        raise Unreadable(f"{shown} is an archive in an archive in an archive. Hand in {to.wanted.request} itself.")
    before = to.seen
    if zips.is_zip(data) or (shown.lower().endswith(".zip") and not tars.is_tar(data)):
        junk = _unpack_zip(to, shown, data, prefix, depth)
    else:
        junk = _unpack_tar(to, shown, data, prefix, depth)
    if junk:
        to.notes.append(f"Ignored in {shown}: {listed(sorted(set(junk)))}.")
    if to.seen == before and not to.refused:
        what = "only files that a computer made by itself" if junk else "nothing"
        raise Unreadable(f"{shown} holds {what}. Pack it again with {to.wanted.request} in it.")


def _unpack_zip(to: Gathering, shown: str, data: bytes, prefix: str, depth: int) -> list[str]:
    """Returns the junk."""
    tree = zips.listing(zips.Zip(io.BytesIO(data), shown, _LIST_MB), shown)
    junk: list[str] = []
    for folder in tree.everything():
        junk += [f"{folder.path}/{name}" if folder.path else name for name in folder.junk]
        for refused in folder.refused:
            if refused.spoils:
                raise Unreadable(f"{shown}: {refused.why}")
            to.leave_out(f"{shown}: {refused.path}", refused.why)
    _add(to, [(prefix + path_within([item.path]), item) for item in tree.items()], prefix, depth)
    return junk


def _unpack_tar(to: Gathering, shown: str, data: bytes, prefix: str, depth: int) -> list[str]:
    """Returns the junk."""
    junk: list[str] = []
    inner: list[tuple[str, bytes]] = []
    for member in tars.members(data, to.left, shown):
        try:
            names = parts(member.name)
        except RefusedName as refusal:
            raise Unreadable(f"{shown}: {refusal}") from None
        cut = junk_within(names)
        if cut:
            junk.append(visible("/".join(names[:cut])))
        elif member.kind in ("link", "special"):
            to.leave_out(f"{shown}: {visible(member.name)}", LINK if member.kind == "link" else SPECIAL)
        elif member.kind == "file":
            path = prefix + path_within(names)
            stream = _Stream(member.contents)
            if is_archive(path):
                inner.append((path, to.pour(lambda s=stream: s, path, to.left)))  # type: ignore[misc]
            else:
                to.keep(path, member.size, lambda s=stream: s)  # type: ignore[misc]
    for path, packed in inner:
        to.attempt(path, partial(_unpack, to, path, packed, f"{path}/", depth + 1))
    return junk


class _Stream(io.RawIOBase):
    """A tar member's contents with the face of a file."""

    def __init__(self, contents: tars.Contents) -> None:
        self._contents = contents

    def read(self, count: int = -1) -> bytes:
        return self._contents.read(count)
