"""Where attacks are tried: made-up things worth attacking, and a look at what became of them.

An attack is a submission: a file whose function `attack(world)` returns what it got, and raises when it got nothing.
What it says is not believed: `World.disturbed` looks at the files, sockets and processes themselves.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import functools
import os
import re
import resource
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import grader
from grader.assignment import Limits, Settings
from grader.call import Call, Failure
from grader.entry import Entry, Unit
from grader.errors import GraderFault
from grader.reading.source import Sources
from grader.sandbox import zygote
from grader.sandbox.child import StudentProcess
from grader.sandbox.confined import ConfinedSandbox, ConfinedSession
from grader.sandbox.zygote import Zygote

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "hostile"
"""One file an attack, in a folder for each group. Only a checkout has it."""
LIMITS = Limits(load_seconds=5, call_seconds=3, total_seconds=8, memory_mb=512, output_mb=1)


@dataclass(frozen=True)
class Attack:
    """One file of the corpus."""

    path: Path
    numbers: tuple[int, ...]
    title: str
    never: str
    """Why it fails even without layers; "" for an attack that only the layers stop."""
    ends: str
    """How it must end, for attacks on the run itself: the kind of a `Failure`, or "answer"."""

    @property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")


def attacks(group: str) -> list[Attack]:
    """The attacks in one folder, by name."""
    return [read(path) for path in sorted((CORPUS / group).glob("*.py"))]


def read(path: Path) -> Attack:
    """What an attack's docstring says: its numbers in the catalogue, what it tries, and why it needs no layer."""
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    head = re.match(r"(\d+(?:, \d+)*)\. (.+)", words)
    assert head, f"{path} must begin with its numbers and what it tries"
    never = re.search(r"Even without layers: (.+)", words, re.DOTALL)
    numbers = tuple(map(int, head[1].split(", ")))
    ends = re.search(r"Ends as: (.+)", words)
    return Attack(path, numbers, head[2], never[1].replace("\n", " ") if never else "", ends[1] if ends else "")


@dataclass(frozen=True)
class Outcome:
    """What one attack got."""

    loot: Any
    failure: Failure | None
    disturbed: tuple[str, ...]

    @property
    def got(self) -> bool:
        return self.failure is None or bool(self.disturbed)


class World:
    """Things worth attacking, none of them worth anything. Use as a context manager."""

    def __init__(self) -> None:
        self.word = "w" + secrets.token_hex(8)
        self.secret = f"{self.word[::-1]}={secrets.token_hex(16)}"
        self.root = Path(tempfile.mkdtemp(prefix="hostile-"))
        self.root.chmod(0o755)
        self.vault, self.office, self.lobby = (self.root / name for name in ("vault", "office", "lobby"))
        for folder in (self.vault, self.office, self.lobby):
            folder.mkdir()
        (self.vault / "secret").write_text(self.secret)
        self.vault.chmod(0o700)
        self.lobby.chmod(0o755)
        self.result = self.office / "result.json"
        self.result.write_text('{"score": 0}')
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.unix.bind(str(self.lobby / "door"))
        (self.lobby / "door").chmod(0o777)
        self.abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.abstract.bind(f"\0{self.word}")
        for listener in (self.unix, self.abstract):
            listener.listen()
        for listener in (self.tcp, self.udp, self.unix, self.abstract):
            listener.setblocking(False)
        self.key = 0x6772 + secrets.randbelow(1 << 30)
        self.number = 1e6 + secrets.randbelow(1 << 40)  # not the one of a world before, which memory may still hold
        self.expected = torch.full((4096,), self.number + 1, dtype=torch.float64)  # small: it must start no threads
        self.before = self._state()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        for listener in (self.tcp, self.udp, self.unix, self.abstract):
            listener.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def described(self) -> dict[str, Any]:
        """What an attack is told: where everything is, so that it need not look."""
        return {
            "word": self.word,
            "secret": str(self.vault / "secret"),
            "office": str(self.office),
            "result": str(self.result),
            "root": str(ROOT),
            "program": str(Path(grader.__file__)),
            "solutions": str(ROOT / "solutions"),
            "grader": os.getpid(),
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "unix": str(self.lobby / "door"),
            "abstract": self.word,
            "key": self.key,
            "number": self.number,
        }

    def disturbed(self) -> tuple[str, ...]:
        """What is no longer as it was; it is put right again for the next attack."""
        found = [name for name, value in self._state().items() if value != self.before[name]]
        for name, listener in (("TCP", self.tcp), ("Unix", self.unix), ("abstract", self.abstract)):
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                found.append(f"{name} connection")
        with contextlib.suppress(BlockingIOError):
            self.udp.recv(100)
            found.append("UDP packet")
        for path in self._notes():
            found.append(f"note {path}")
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        found += self._shared_memory()
        for path in self.office.iterdir():
            path.unlink()
        self.result.write_text('{"score": 0}')
        self.office.chmod(0o755)
        self.result.chmod(0o644)
        os.chown(self.result, os.getuid(), os.getgid())
        self.before = self._state()
        return tuple(found)

    def _state(self) -> dict[str, object]:
        status = self.result.stat() if self.result.exists() else None
        return {
            "result": self.result.read_bytes() if status else None,
            "result's rights": status and (status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns),
            "office": sorted(path.name for path in self.office.iterdir()),
            "vault": [(path.name, path.read_text()) for path in self.vault.iterdir()],
            "priority": os.getpriority(os.PRIO_PROCESS, 0),
            "limits": [resource.getrlimit(kind) for kind in range(resource.RLIM_NLIMITS)]
            if hasattr(resource, "RLIM_NLIMITS")
            else resource.getrlimit(resource.RLIMIT_CPU),
            "processors": os.sched_getaffinity(0),
        }

    def _notes(self) -> Iterator[Path]:
        for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/root", "/", str(Path.home()), "."):
            with contextlib.suppress(OSError):
                yield from Path(folder).glob(f"*{self.word}*")

    def _shared_memory(self) -> list[str]:
        """System V things with our key, removed."""
        libc = ctypes.CDLL(None)
        found = []
        for kind, get, control in (("shm", libc.shmget, libc.shmctl), ("msg", libc.msgget, libc.msgctl)):
            identity = get(self.key, 0, 0) if kind == "shm" else get(self.key, 0)
            if identity >= 0:
                control(identity, 0, None)
                found.append(f"System V {kind}")
        return found


def settings(limits: Limits = LIMITS, function: str = "attack") -> Settings:
    entry = Entry(function=function, arguments=["world"], returns=["loot"])
    return Settings(title="Arena", entry=entry, limits=limits)


def start_zygote(from_scratch: list[str] | None = None) -> Zygote:
    """A zygote split off from this process. Make worlds and secrets only afterwards."""
    warmed = functools.partial(
        StudentProcess.warmed, from_scratch=from_scratch or [], trains=False, accelerator_name="emulated"
    )
    # Whoever called may have put something of its own in the place of the streams, which a child would inherit.
    with contextlib.redirect_stdout(sys.__stdout__), contextlib.redirect_stderr(sys.__stderr__):
        return zygote.start(warmed)


def open_source(
    root: Zygote,
    source: str,
    limits: Limits = LIMITS,
    *,
    layers: frozenset[str] | None = None,
    files: dict[str, bytes] | None = None,
) -> ConfinedSession:
    """A session with this submission loaded."""
    return open_sources(root, Sources([Unit("attack.py", None, source)], files or {}, main="attack.py"), limits, layers)


def open_sources(
    root: Zygote, sources: Sources, limits: Limits = LIMITS, layers: frozenset[str] | None = None
) -> ConfinedSession:
    return ConfinedSandbox(root, settings(limits), layers=layers).open(sources)


def attempt(root: Zygote, world: World, attack: Attack, layers: frozenset[str] | None = None) -> Outcome:
    """Let one attack loose on the world, end it, and see what it got.

    Raises GraderFault when it could not even be loaded: an attack that never ran has proved nothing.
    """
    session = open_source(root, attack.source, layers=layers)
    try:
        if session.loaded.entry is None:
            raise GraderFault(f"{attack.path} could not be tried: {session.loaded.problems}")
        call: Call = session.call((world.described(),), {})
    finally:
        session.close()
    return Outcome(call.output, call.failure, world.disturbed())
