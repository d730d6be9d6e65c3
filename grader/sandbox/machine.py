"""What this machine offers for confining student code, found out once, in the zygote, before any child.

Never fails: a layer that isn't there is recorded with the reason and how to get it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from grader.sandbox import kernel, landlock, seccomp

LAYERS = ("rlimits", "uid", "landlock", "seccomp")
"""In the order in which they are applied."""

HIGH_IDS = (1_900_000_000, 1 << 22)
"""First id and count: above what distributions, systemd and containers hand out, one for each process id."""
_SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/share/zoneinfo")


@dataclass(frozen=True)
class Missing:
    """A layer that this machine does not offer, why, and how to get it."""

    layer: str
    reason: str
    mend: str


@dataclass(frozen=True)
class Plan:
    """What this machine offers, and what was prepared for the children."""

    layers: tuple[str, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...]
    """What works less well than it should, though the layer is there."""
    landlock_abi: int = 0
    libraries: tuple[str, ...] = ()
    uids: tuple[int, int] = HIGH_IDS
    """First fresh uid, and how many there are."""
    programs: dict[tuple[bool, bool], seccomp.Program] = field(default_factory=dict)
    """Compiled filters by (files may be opened, real GPU)."""


def uid_of(pid: int, uids: tuple[int, int]) -> int:
    """The user and group of the child with this process id: no other living child has the same."""
    first, count = uids
    return first + pid % count


def prepare() -> Plan:
    """Find out which layers this machine offers and compile the filters. Never fails; reads nothing secret."""
    missing: list[Missing] = []
    notes: list[str] = []
    libraries = tuple(dict.fromkeys([*_interpreter(), *_SYSTEM_LIBRARIES]))

    uids = _fresh_uids(missing)
    version = _landlock(missing)
    closed = _closed_folders() if uids is not None else []
    if closed:
        reason = f"Python lies in {' and '.join(map(str, closed))}, which only the owner may enter"
        mend = "install Python and the packages where every user may read them"
        if version and all(folder.stat().st_uid == os.geteuid() for folder in closed):
            # As another user, student code could import nothing. Landlock can do without another user.
            missing.append(Missing("uid", reason, mend))
            uids = None
        else:
            notes.append(
                f"{reason}. Student code runs as another user and can't import from there. To mend it: {mend}."
            )
    if 0 < version < 6:
        notes.append(
            f"This kernel's Landlock (version {version}) can't restrict "
            f"{'TCP and ' if version < 4 else ''}signals; seccomp does. Linux 6.12 or newer can."
        )
    programs = _programs(missing)
    absent = {gap.layer for gap in missing}
    return Plan(
        layers=tuple(layer for layer in LAYERS if layer not in absent),
        missing=tuple(missing),
        notes=tuple(dict.fromkeys(notes)),
        landlock_abi=version,
        libraries=libraries,
        uids=uids or HIGH_IDS,
        programs=programs,
    )


def _interpreter() -> Iterator[str]:
    """Folders that hold Python, the installed packages and this package. Never a folder of sys.path by itself:
    that may be the one that holds the solutions."""
    paths = sysconfig.get_paths()
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield str(Path(paths[name]).resolve())
    for prefix in {sys.base_prefix, sys.base_exec_prefix}:
        yield str(Path(prefix).resolve() / sys.platlibdir)
    yield str(Path(__file__).resolve().parent.parent)
    torch = find_spec("torch")  # with its neighbours; not always where the interpreter keeps packages
    if torch is not None and torch.origin:
        yield str(Path(torch.origin).resolve().parent.parent)


def _closed_folders() -> list[Path]:
    """Folders on the way to Python and its packages that other users can't enter, or can't list at the end."""
    found: dict[Path, None] = {}
    for path in map(Path, _interpreter()):
        for folder in (*reversed(path.parents), path):
            needed = 0o5 if folder == path else 0o1
            with contextlib.suppress(OSError):
                if folder.stat().st_mode & needed != needed:
                    found[folder] = None
                    break
    return list(found)


def _fresh_uids(missing: list[Missing]) -> tuple[int, int] | None:
    if os.geteuid() != 0:
        missing.append(Missing("uid", "the grader does not run as root", "run it as root, for example in a container"))
        return None
    if not kernel.LINUX:
        missing.append(Missing("uid", "not Linux", "run it in a Linux container"))
        return None
    status = Path("/proc/self/status").read_text()
    held = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    cap_chown, cap_setgid, cap_setuid = 0, 6, 7
    if any(not held >> capability & 1 for capability in (cap_chown, cap_setgid, cap_setuid)):
        reason = "root without the capabilities to change user"
        missing.append(Missing("uid", reason, "start the container with the capabilities CHOWN, SETGID and SETUID"))
        return None
    with contextlib.suppress(OSError):
        if Path("/proc/self/setgroups").read_text().strip() == "deny" and os.getgroups():
            reason = "this user namespace does not let groups be dropped"
            missing.append(Missing("uid", reason, "start the container as real root, or with newgidmap"))
            return None
    uids = mapped_ids()
    if uids[1] < 512:
        reason = "this user namespace has too few user ids"
        missing.append(Missing("uid", reason, "give the container a range of subordinate ids (subuid, subgid)"))
        return None
    return uids


def mapped_ids() -> tuple[int, int]:
    """Ids for children that this user namespace has, as users and as groups: first and how many.

    The high ones, or where those aren't mapped, the upper half of the largest range.
    """
    ends = []
    for name in ("uid_map", "gid_map"):
        try:
            lines = Path(f"/proc/self/{name}").read_text().splitlines()
        except OSError:
            return HIGH_IDS
        ranges = [(int(line.split()[0]), int(line.split()[2])) for line in lines]
        ends.append(max(ranges, key=lambda found: found[1], default=(0, 0)))
    first = max(start for start, _ in ends)
    end = min(start + length for start, length in ends)
    if end >= sum(HIGH_IDS):
        return HIGH_IDS
    middle = first + max(0, end - first) // 2
    return middle, max(0, end - middle)


def _landlock(missing: list[Missing]) -> int:
    if not kernel.LINUX:
        missing.append(Missing("landlock", "not Linux", "run it in a Linux container"))
        return 0
    try:
        return landlock.abi()
    except OSError as error:
        missing.append(Missing("landlock", *landlock.why_missing(error)))
        return 0


def _programs(missing: list[Missing]) -> dict[tuple[bool, bool], seccomp.Program]:
    try:
        if not kernel.LINUX:
            raise OSError("not Linux")
        seccomp.usable()
        return {
            (opening, gpu): seccomp.compile_filter(opening=opening, gpu=gpu)
            for opening in (True, False)
            for gpu in (False, True)
        }
    except (ImportError, RuntimeError):
        reason, mend = "libseccomp is not installed", "install libseccomp2 and the Python package pyseccomp"
    except OSError as error:
        reason, mend = f"this kernel has no seccomp filters ({error})", "run it on Linux 4.14 or newer"
    missing.append(Missing("seccomp", reason, mend))
    return {}
