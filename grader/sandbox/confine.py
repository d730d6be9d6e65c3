"""Take away from a freshly forked child everything that a student's code has no need of.

`prepare` runs once, in the zygote: it finds out what this machine allows and does what can be done ahead.
`apply` runs in each child, in an order in which each step still can be taken: descriptors, limits, user,
no_new_privs, Landlock, seccomp. What each layer is for, and what is left without it: docs/threat-model.md.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader.sandbox import kernel, landlock, seccomp

LAYERS = ("rlimits", "uid", "landlock", "seccomp")
"""In the order in which they are applied."""

_UID_BASE = 1_900_000_000
"""Above the ranges that distributions, systemd and containers hand out; plus a process id it is unique."""
_MOST_THREADS = 64
_MOST_FILES = 128
_SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/share/zoneinfo")
_SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/localtime", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
    *("/dev/zero", "/dev/random", "/dev/urandom"),
)
_CUDA_READABLE = ("/proc", "/sys", "/etc", "/usr/share", "/usr/local", "/dev")


@dataclass(frozen=True)
class Policy:
    """What one child may use."""

    layers: frozenset[str] = frozenset(LAYERS)
    """Layers to apply, where the machine has them. Fewer than all is for tests and for `doctor --matrix`."""
    memory_bytes: int = 1 << 30
    """Address space beyond what the zygote has. Not limited on a real GPU, where the driver maps terabytes."""
    cpu_seconds: int = 60
    """Processor time of the whole child; a safety net under the marker's own clock."""
    readable: tuple[str, ...] = ()
    """The submission's own folder (or folders): given to the child's group, read-only. The first is where it starts."""
    gpu: bool = False


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
    uids: tuple[int, int] = (_UID_BASE, 1 << 22)
    """First fresh uid, and how many there are."""
    programs: dict[tuple[bool, bool], seccomp.Program] = field(default_factory=dict)
    """Compiled filters by (files may be opened, real GPU)."""

    def uid(self, pid: int) -> int:
        """The user and group of the child with this process id."""
        first, count = self.uids
        return first + pid % count


def prepare() -> Plan:
    """Find out which layers this machine offers and compile the filters. Never fails; reads nothing secret."""
    missing: list[Missing] = []
    notes: list[str] = []
    libraries = tuple(dict.fromkeys([*_interpreter(), *_SYSTEM_LIBRARIES]))

    uids = _fresh_uids(missing)
    if uids is not None:
        notes += [
            f"{path} lies in {closed}, which only its owner may enter. Student code runs as another user and "
            f"can't import from there. Install Python and the packages where every user may read them."
            for path in _interpreter()
            for closed in _closed_folders(Path(path))
        ]
    version = _landlock(missing)
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
        uids=uids or Plan.uids,
        programs=programs,
    )


def apply(plan: Plan, policy: Policy, keep_fds: Iterable[int] = ()) -> tuple[str, ...]:
    """Confine this process for good; the layers applied, in order. The standard three must be in place.

    Meant for a freshly forked child with one thread. Raises OSError (or ValueError from a limit) when a layer
    that the plan offers can't be applied: the child must then end, never run student code.
    """
    layers = tuple(layer for layer in plan.layers if layer in policy.layers)
    _close_all_but({0, 1, 2, *keep_fds})
    with contextlib.suppress(PermissionError):
        os.setsid()  # its own session and process group: no terminal, no signals meant for the grader
    parent = os.getppid()
    if "rlimits" in layers:
        _limit(policy, own_uid="uid" in layers)
    if "uid" in layers:
        _become(plan.uid(os.getpid()), policy.readable)
    elif os.geteuid() == 0 and kernel.LINUX:
        kernel.drop_capabilities()
    # The first step of an optimiser makes sure that this folder is there; with one that is, it need not make it.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/"
    if policy.readable:
        os.chdir(policy.readable[0])
    if not kernel.LINUX:
        return layers
    # After the change of user, which resets both of these.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(72)  # the zygote died before the line above could tell us
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if "landlock" in layers:
        readable = (*plan.libraries, *_SYSTEM_FILES, *policy.readable)
        devices = ["/dev/null"]
        if policy.gpu:
            readable += _CUDA_READABLE
            devices += [str(path) for path in Path("/dev").glob("nvidia*")]
        landlock.restrict(plan.landlock_abi, readable, devices)
    if "seccomp" in layers:
        seccomp.install(plan.programs["landlock" in layers, policy.gpu])
    return layers


def sweep(pid: int, layers: Iterable[str] = ()) -> None:
    """Kill everything that the ended child `pid`, which had `layers`, may have left running. Never raises.

    A child that had seccomp can't have started a process, so there is nothing to look for. Otherwise what
    belongs to its user, or else to its session, is killed until nothing is left.
    """
    if "seccomp" in layers or not kernel.LINUX:
        return
    uids = _mapped([]) if "uid" in layers else None
    uid = None if uids is None else Plan((), (), (), uids=uids).uid(pid)
    for _ in range(100):
        left = list(_left_over(pid, uid))
        if not left:
            return
        for other in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(other, signal.SIGKILL)
        time.sleep(0.002)


def shield() -> None:
    """For processes that hold secrets (marker, main): no other process of the same user may look into this one."""
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


# --- what the machine offers ---


def _interpreter() -> Iterator[str]:
    """Folders that hold Python, the installed packages and this package. Never a folder of sys.path by itself:
    that may be the one that holds the solutions."""
    paths = sysconfig.get_paths()
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield str(Path(paths[name]).resolve())
    for prefix in {sys.base_prefix, sys.base_exec_prefix}:
        yield str(Path(prefix).resolve() / sys.platlibdir)
    yield str(Path(__file__).resolve().parent.parent)


def _closed_folders(path: Path) -> Iterator[str]:
    """The first folder on the way to `path` that other users can't enter or list, if there is one."""
    for folder in (*reversed(path.parents), path):
        with contextlib.suppress(OSError):
            needed = 0o5 if folder == path else 0o1
            if folder.stat().st_mode & needed != needed:
                yield str(folder)
                return


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
    return _mapped(missing)


def _mapped(missing: list[Missing]) -> tuple[int, int] | None:
    """Ids that this user namespace has, both as user and as group: the high range, or else the top half there is."""
    ends = []
    for name in ("uid_map", "gid_map"):
        try:
            lines = Path(f"/proc/self/{name}").read_text().splitlines()
        except OSError:
            return Plan.uids
        ranges = [(int(line.split()[0]), int(line.split()[2])) for line in lines]
        ends.append(max(ranges, key=lambda found: found[1], default=(0, 0)))
    first = max(start for start, _ in ends)
    end = min(start + length for start, length in ends)
    if end >= sum(Plan.uids):
        return Plan.uids
    if end - first < 1024:
        reason = "this user namespace has too few user ids"
        missing.append(Missing("uid", reason, "give the container a range of subordinate ids (subuid, subgid)"))
        return None
    middle = first + (end - first) // 2
    return middle, end - middle


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


# --- the steps in the child ---


def _close_all_but(keep: set[int]) -> None:
    ends = sorted({*keep, os.sysconf("SC_OPEN_MAX")})
    for lower, upper in zip([-1, *ends], ends, strict=False):
        if lower + 1 < upper:  # an empty range is not always taken as one
            os.closerange(lower + 1, upper)


def _limit(policy: Policy, *, own_uid: bool) -> None:
    limits = {
        "RLIMIT_CPU": policy.cpu_seconds,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_CORE": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_NICE": 0,
        "RLIMIT_RTPRIO": 0,
    }
    if not policy.gpu:
        limits |= {"RLIMIT_NOFILE": _MOST_FILES, "RLIMIT_MEMLOCK": 0}
        if kernel.LINUX:
            pages = int(Path("/proc/self/statm").read_bytes().split()[0])
            limits["RLIMIT_AS"] = pages * resource.getpagesize() + policy.memory_bytes
    if own_uid:
        limits["RLIMIT_NPROC"] = _MOST_THREADS  # counts the whole user: only right where the child is all of it
    for name, value in limits.items():
        number = getattr(resource, name, None)
        if number is not None:
            hard = resource.getrlimit(number)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            # A second more before the kernel kills: SIGXCPU says what it was.
            above = value + 1 if name == "RLIMIT_CPU" and hard == resource.RLIM_INFINITY else value
            resource.setrlimit(number, (value, above))


def _become(uid: int, folders: tuple[str, ...]) -> None:
    for folder in folders:
        os.chown(folder, -1, uid)
        os.chmod(folder, 0o750)  # noqa: PTH101 - pathlib would only wrap it
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _left_over(pid: int, uid: int | None) -> Iterator[int]:
    """Processes of that user, or else of the session that `pid` opened; without the dead ones."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        try:
            if uid is not None and entry.stat().st_uid != uid:
                status = Path(entry.path, "status").read_text()
                if f"\nUid:\t{uid}\t" not in status:
                    continue
            state, _, _, session = Path(entry.path, "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if state not in "ZX" and (uid is not None or int(session) == pid):
            yield int(entry.name)
