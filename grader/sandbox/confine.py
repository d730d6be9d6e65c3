"""Take away from a freshly forked child everything that a student's code has no need of.

`prepare` (in `machine.py`) runs once, in the zygote: it finds out what this machine offers and compiles filters.
`apply` runs in each child, in an order in which each step still can be taken: descriptors, limits, user,
no_new_privs, Landlock, seccomp. What each layer is for, and what is left without it: docs/threat-model.md.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox import kernel, landlock, seccomp
from grader.sandbox.machine import LAYERS, Missing, Plan, mapped_ids, prepare, uid_of

__all__ = ["LAYERS", "Missing", "Plan", "Policy", "apply", "prepare", "shield", "sweep"]

_MOST_THREADS = 64
_MOST_FILES = 128
_SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/localtime", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
    *("/dev/zero", "/dev/random", "/dev/urandom"),
)
_CUDA_READABLE = (
    *("/proc/self", "/proc/devices", "/proc/driver", "/proc/modules", "/proc/stat", "/proc/sys", "/proc/version"),
    *("/sys", "/dev", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/usr/share", "/usr/local"),
)


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
    with contextlib.suppress(OSError):  # when memory runs out, this process goes first, not its zygote or the grader
        kernel.tell("/proc/self/oom_score_adj", b"1000")
    if "rlimits" in layers:
        _limit(policy, own_uid="uid" in layers)
    if "uid" in layers:
        _become(uid_of(os.getpid(), plan.uids), policy.readable)
    elif "uid" in policy.layers and os.geteuid() == 0 and kernel.LINUX:
        kernel.drop_capabilities()  # a root that can't become anybody else can at least become an ordinary user
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
    uid = uid_of(pid, mapped_ids()) if "uid" in layers else None
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
            pages = int(kernel.told("/proc/self/statm").split()[0])
            limits["RLIMIT_AS"] = pages * resource.getpagesize() + policy.memory_bytes
    if own_uid:
        limits["RLIMIT_NPROC"] = _MOST_THREADS  # counts the whole user: only right where the child is all of it
    for name, value in limits.items():
        number = getattr(resource, name, None)
        if number is not None:
            hard = resource.getrlimit(number)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            # SIGXCPU says what it was; the kernel's SIGKILL, which does not, comes long after the marker's.
            above = value + 60 if name == "RLIMIT_CPU" and hard == resource.RLIM_INFINITY else value
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
