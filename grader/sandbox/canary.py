"""The canary: before anything is graded, a confined child tries real attacks and real work; each must go as it should.

A sandbox in which everything is "blocked" because nothing runs at all would look safe, so the honest work of the
controls counts as much as the attacks. The level that comes out goes into every result:

A  all four layers, no attack got through;   B  one layer is missing;   C  less than that, or not proven.

`probe` runs in the child; `try_out` prepares what is to be attacked, and judges.
"""

from __future__ import annotations

import contextlib
import importlib
import mmap
import os
import resource
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import torch

from grader.sandbox.machine import LAYERS, Missing, Plan


class Targets(msgspec.Struct, frozen=True):
    """What the canary may try its teeth on; nothing here is worth anything."""

    secret: str
    """A file that only the grader's user may read."""
    result: str
    """A file that everybody may read and only the grader's user may write."""
    folder: str
    """Plays the submission's own folder; holds `own.txt`."""
    grader: int
    """Process id of the grader."""
    memory_bytes: int


class Findings(msgspec.Struct, frozen=True):
    """What a child found out by trying."""

    layers: tuple[str, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...]
    got: tuple[str, ...]
    """Attacks that succeeded."""
    broken: tuple[str, ...]
    """Honest work that did not."""


@dataclass(frozen=True)
class Verdict:
    """How far student code is confined here."""

    level: str
    """"A", "B" or "C"."""
    layers: tuple[str, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...]
    got: tuple[str, ...]
    unexpected: tuple[str, ...]
    """Attacks that succeeded although a layer that should stop them is there."""
    broken: tuple[str, ...]


def try_out(ask: Callable[[Targets], Findings], memory_bytes: int = 1 << 30) -> Verdict:
    """Let a confined child attack made-up targets, and judge what it reports.

    `ask` starts a child with `Targets.folder` readable and that memory budget, runs `probe` in it, and returns its
    findings; its errors pass through. Costs a fork and a few milliseconds.
    """
    with tempfile.TemporaryDirectory(prefix="canary-") as name:
        root = Path(name)
        vault, office, folder = root / "vault", root / "office", root / "folder"
        root.chmod(0o755)
        for made in (vault, office, folder):
            made.mkdir()
        (vault / "secret").write_text("secret")
        vault.chmod(0o700)
        (office / "result").write_text("0")
        (folder / "own.txt").write_text("own")
        targets = Targets(
            secret=str(vault / "secret"),
            result=str(office / "result"),
            folder=str(folder),
            grader=os.getpid(),
            memory_bytes=memory_bytes,
        )
        return judge(ask(targets))


def attacks() -> tuple[str, ...]:
    """The names of the attacks that `probe` tries."""
    return tuple(_ATTACKS)


def controls() -> tuple[str, ...]:
    """The names of the honest work that `probe` tries."""
    return tuple(_CONTROLS)


def judge(findings: Findings) -> Verdict:
    """The level, from the layers there are and from what they really stopped."""
    absent = [layer for layer in LAYERS if layer not in findings.layers]
    unexpected = tuple(name for name in findings.got if _ATTACKS[name][1] & set(findings.layers))
    broken, notes = findings.broken, list(findings.notes)
    if "landlock" in absent and "seccomp" in findings.layers:
        broken = tuple(name for name in broken if name not in _NEED_FILES)
        notes.append("Without Landlock, student code can't open files or import modules that aren't loaded yet.")
    level = "C"
    if not unexpected and not broken and len(absent) < 2:
        level = "B" if absent else "A"
    return Verdict(level, findings.layers, findings.missing, tuple(notes), findings.got, unexpected, broken)


def probe(plan: Plan, layers: tuple[str, ...], targets: Targets, keep_fds: tuple[int, ...] = ()) -> Findings:
    """Try everything from inside a child that has been confined. Changes nothing that is not in `targets`."""
    got = [name for name, (attack, _) in _ATTACKS.items() if _succeeds(attack, targets)]
    if _open_descriptors() - set(keep_fds):
        got.append("find an inherited file")
    broken = [name for name, work in _CONTROLS.items() if not _succeeds(work, targets)]
    return Findings(layers, plan.missing, plan.notes, tuple(got), tuple(broken))


def _succeeds(attempt: Callable[[Targets], object], targets: Targets) -> bool:
    try:
        attempt(targets)
    except Exception:
        return False
    return True


# --- attacks: each returns when it got what it wanted, and raises when it did not ---


def _leave_a_note(_: Targets) -> None:
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        with contextlib.suppress(OSError):
            path = Path(folder, f"canary-note-{os.getpid()}")
            path.touch()
            path.unlink()
            return
    raise PermissionError


def _start_a_process(_: Targets) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _connect(_: Targets) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as channel, contextlib.suppress(ConnectionRefusedError):
        channel.settimeout(0.5)
        channel.connect(("127.0.0.1", 9))


def _send_a_packet(_: Targets) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.sendto(b"canary", ("127.0.0.1", 9))


def _overwrite(targets: Targets) -> None:
    with open(targets.result, "r+b"):  # noqa: PTH123
        pass


def _replace(targets: Targets) -> None:
    aside = targets.result + ".aside"
    os.rename(targets.result, aside)  # noqa: PTH104
    os.rename(aside, targets.result)  # noqa: PTH104


def _open_up(targets: Targets) -> None:
    os.chmod(targets.result, 0o644)  # noqa: PTH101


def _read_memory(targets: Targets) -> None:
    with open(f"/proc/{targets.grader}/mem", "rb"):  # noqa: PTH123
        pass


def _map_too_much(targets: Targets) -> None:
    mmap.mmap(-1, targets.memory_bytes + (64 << 20)).close()


def _open_descriptors() -> set[int]:
    found = set()
    for descriptor in range(3, 512):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            found.add(descriptor)
    return found


_Attempt = Callable[[Targets], object]
_FILES = frozenset({"uid", "landlock", "seccomp"})
_ATTACKS: dict[str, tuple[_Attempt, frozenset[str]]] = {
    "read a secret file": (lambda targets: Path(targets.secret).read_bytes(), _FILES),
    "learn that a secret file exists": (lambda targets: os.stat(targets.secret), frozenset({"uid"})),  # noqa: PTH116
    "overwrite a result": (_overwrite, _FILES),
    "replace a result": (_replace, _FILES),
    "change a result's permissions": (_open_up, frozenset({"uid", "seccomp"})),
    "leave a note for a later run": (_leave_a_note, frozenset({"landlock", "seccomp"})),
    "signal the grader": (lambda targets: os.kill(targets.grader, 0), frozenset({"uid", "seccomp"})),
    "open the grader's memory": (_read_memory, _FILES),
    "change the grader's limits": (
        lambda targets: resource.prlimit(targets.grader, resource.RLIMIT_CORE),
        frozenset({"uid", "seccomp"}),
    ),
    "become root": (lambda _: os.setuid(0), frozenset({"uid", "seccomp"})),
    "start a process": (_start_a_process, frozenset({"seccomp"})),
    "open a TCP connection": (_connect, frozenset({"seccomp"})),
    "send a UDP packet": (_send_a_packet, frozenset({"seccomp"})),
    "make shared memory": (lambda _: os.close(os.memfd_create("canary")), frozenset({"seccomp"})),
    "use too much memory": (_map_too_much, frozenset({"rlimits"})),
    "find an inherited file": (lambda _: _refuse(), frozenset(LAYERS)),
}


def _refuse() -> None:
    raise PermissionError


# --- controls: honest work ---


def _attend(_: Targets) -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    weights = torch.softmax(torch.einsum("id,jd->ij", x, x), dim=-1)
    torch.autograd.backward((weights @ x).sum())
    if not torch.allclose(weights.sum(-1), torch.ones(2)) or x.grad is None or not x.grad.isfinite().all():
        raise ArithmeticError


def _import_late(_: Targets) -> None:
    sys.modules.pop("colorsys", None)  # any small module that nothing here uses
    importlib.import_module("colorsys")


def _read_package(_: Targets) -> None:
    assert torch.__file__
    with open(torch.__file__, "rb") as file:  # noqa: PTH123
        file.read(1)


def _read_own(targets: Targets) -> None:
    if Path("own.txt").read_text() != "own" or os.listdir(targets.folder) != ["own.txt"]:  # noqa: PTH208
        raise FileNotFoundError


def _run_thread(_: Targets) -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def _write_nowhere(_: Targets) -> None:
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        nowhere.write("x")


_CONTROLS: dict[str, _Attempt] = {
    "matmul, softmax, einsum and autograd": _attend,
    "import a module that was not loaded": _import_late,
    "read an installed package": _read_package,
    "read the submission's own files": _read_own,
    "write to the null device": _write_nowhere,
    "run a thread": _run_thread,
    "use memory": lambda _: torch.empty(32 << 20, dtype=torch.uint8)[:: 1 << 20].fill_(1),
    "draw random bytes": lambda _: os.urandom(8),
}
_NEED_FILES = frozenset(name for name in _CONTROLS if "import" in name or "read" in name or "write" in name)
