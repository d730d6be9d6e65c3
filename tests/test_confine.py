"""Student code is confined: what must fail fails, what must work works, and the level says which is which."""

from __future__ import annotations

import dataclasses
import os
import signal
import struct
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch

from grader.sandbox import canary, confine, machine, seccomp
from tests import confined

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the layers are Linux's")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
STAT = "learn that a secret file exists"


@as_root
def test_root_is_level_a() -> None:
    """On a server that runs the grader as root, every attack fails and all honest work goes well."""
    verdict = confined.verdict()
    assert (verdict.level, verdict.got, verdict.broken, verdict.missing) == ("A", (), (), ())
    assert verdict.layers == confine.LAYERS


@as_root
def test_docker_is_level_a() -> None:
    """In a container with Docker's usual capabilities nothing more is needed."""
    verdict = confined.verdict_as(lambda: confined.root_with(confined.DOCKER))
    assert (verdict.level, verdict.got, verdict.broken) == ("A", (), ())


@as_root
def test_rootless_container_is_level_a() -> None:
    """In a container that an ordinary user started, its own range of user ids is enough; with one id it is not."""
    if not confined.user_namespaces():
        pytest.skip("user namespaces are refused here")
    assert confined.verdict_as(confined.rootless).level == "A"
    alone = confined.verdict_as(lambda: confined.rootless(1))
    assert (alone.level, alone.got, alone.broken) == ("B", (STAT,), ())
    assert "too few user ids" in alone.missing[0].reason


@as_root
@pytest.mark.parametrize(
    ("become", "words"),
    [(confined.nobody, "does not run as root"), (lambda: confined.root_with(()), "without the capabilities")],
    ids=["ordinary user", "root without capabilities"],
)
def test_no_other_user_is_level_b(become, words) -> None:  # type: ignore[no-untyped-def]
    """Who can't become another user keeps level B: only the existence of a file is learned, and the reason is said."""
    verdict = confined.verdict_as(become)
    assert (verdict.level, verdict.got, verdict.broken) == ("B", (STAT,), ())
    assert words in verdict.missing[0].reason
    assert verdict.missing[0].mend


@as_root
def test_no_landlock_is_level_b() -> None:
    """Under a container profile that refuses Landlock, no file can be opened at all, and the reason is said."""
    verdict = confined.verdict_as(confined.without_landlock)
    assert (verdict.level, verdict.got, verdict.broken) == ("B", (), ())
    assert "profile" in verdict.missing[0].reason
    assert any("can't open files" in note for note in verdict.notes)


@as_root
def test_attacks_are_real() -> None:
    """Without layers every attack that the canary knows succeeds, so a blocked one was really blocked."""
    verdict = confined.verdict(frozenset())
    assert set(canary.attacks()) - set(verdict.got) == {"find an inherited file"}  # closing them is no layer
    assert verdict.level == "C"


@as_root
@pytest.mark.parametrize("layer", confine.LAYERS)
def test_one_missing_layer_is_never_level_a(layer: str) -> None:
    """A run in which one layer was left out does not claim level A."""
    verdict = confined.verdict(frozenset(confine.LAYERS) - {layer})
    assert verdict.level == "B"
    assert not verdict.broken


def test_broken_control_or_leaking_layer_is_level_c() -> None:
    """When honest work fails, or an attack gets past a layer that should stop it, nothing is promised."""
    sound = canary.Findings(confine.LAYERS, (), (), (), ())
    assert canary.judge(sound).level == "A"
    broken = canary.judge(canary.Findings(confine.LAYERS, (), (), (), ("run a thread",)))
    leaking = canary.judge(canary.Findings(confine.LAYERS, (), (), ("read a secret file",), ()))
    assert (broken.level, leaking.level) == ("C", "C")
    assert leaking.unexpected == ("read a secret file",)


@pytest.mark.parametrize("ours", [True, False], ids=["our own", "somebody else's"])
def test_unreadable_python_is_explained(ours: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Python in a private folder can't be read by another user: the folder is named, and where Landlock can do
    without another user, there is none."""
    home = tmp_path / "home"
    (home / "lib").mkdir(parents=True)
    home.chmod(0o700)
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o1)
    monkeypatch.setattr(machine, "_interpreter", lambda: [str(home / "lib")])
    monkeypatch.setattr(machine, "_fresh_uids", lambda missing: machine.HIGH_IDS)
    monkeypatch.setattr(machine, "_landlock", lambda missing: 6)
    monkeypatch.setattr("os.geteuid", lambda: home.stat().st_uid + (not ours))
    plan = machine.prepare()
    if ours:
        assert "uid" not in plan.layers
        assert str(home) in plan.missing[0].reason
    else:
        assert "uid" in plan.layers
        assert any(str(home) in note and "install Python" in note for note in plan.notes)


def test_child_never_runs_less_confined_than_promised() -> None:
    """A layer that the machine offers but that can't be applied stops the child before any student code."""
    plan = dataclasses.replace(confine.prepare(), programs={(True, False): seccomp.Program(b"", ())})

    def body(keep: int) -> bytes:
        try:
            confine.apply(plan, confine.Policy(), (keep,))
        except OSError:
            return b"stopped"
        return b"went on"

    assert confined.in_child(body) == b"stopped"


def test_optimiser_and_own_files() -> None:
    """Students may train, and may read the files that they handed in, but not write them."""
    plan = confine.prepare()
    folder = tempfile.TemporaryDirectory()
    Path(folder.name, "data.txt").write_text("mine")

    def body(keep: int) -> bytes:
        confine.apply(plan, confine.Policy(memory_bytes=2 << 30, readable=(folder.name,)), (keep,))
        weight = torch.ones(2, requires_grad=True)
        weight.sum().backward()  # type: ignore[no-untyped-call]
        torch.optim.SGD([weight], lr=0.5).step()
        assert weight.tolist() == [0.5, 0.5]
        with pytest.raises(PermissionError):
            Path("data.txt").write_text("theirs")
        return Path("data.txt").read_bytes()

    with folder:
        assert confined.in_child(body) == b"mine"


def test_what_a_child_left_is_swept() -> None:
    """Without seccomp a student's process can leave others running; they are found and killed."""
    plan = confine.prepare()
    layers: tuple[str, ...] = ("rlimits", "uid") if os.geteuid() == 0 else ("rlimits",)

    def body(keep: int) -> bytes:
        confine.apply(plan, confine.Policy(layers=frozenset(layers)), (keep,))
        left = os.fork()
        if left == 0:
            os.close(keep)
            time.sleep(60)
        return f"{os.getpid()} {left}".encode()

    child, left = map(int, confined.in_child(body).split())
    os.kill(left, 0)
    confine.sweep(child, layers)
    state = Path(f"/proc/{left}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


# --- the filter, instruction by instruction: what it answers for another machine than this one ---

ALLOW, KILL = 0x7FFF0000, 0x80000000
DENIED, UNKNOWN, CLOSED = 0x00050000 | 1, 0x00050000 | 38, 0x00050000 | 13
MACHINES = {
    "X86_64": (0xC000003E, {"read": 0, "openat": 257, "clone": 56, "clone3": 435, "kill": 62, "socket": 41}),
    "AARCH64": (0xC00000B7, {"read": 63, "openat": 56, "clone": 220, "clone3": 435, "kill": 129, "socket": 198}),
}


def answer(code: bytes, number: int, arch: int, *arguments: int) -> int:
    """What the kernel's interpreter would return for this call."""
    data = struct.pack("<iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    program = list(struct.iter_unpack("<HBBI", code))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, operand = program[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, operand)[0]
        elif operation == 0x06:
            return int(operand)
        elif operation == 0x05:
            at += operand
        elif operation == 0x54:
            accumulator &= operand
        else:
            holds = {0x15: accumulator == operand, 0x25: accumulator > operand, 0x35: accumulator >= operand}[operation]
            at += if_true if holds else if_false


@pytest.mark.parametrize("name", MACHINES)
def test_filter_on_every_architecture(name: str) -> None:
    """The same calls are allowed and refused on Intel and on ARM; foreign call numbers end the process."""
    arch, numbers = MACHINES[name]
    program = seccomp.compile_filter(opening=True, machine=name)
    code = bytearray(program.code)
    for offset in program.pid_offsets:
        struct.pack_into("<I", code, offset, 4321)
    thread, process = 0x3D0F00, signal.SIGCHLD
    expected = [
        ("read", (), ALLOW),
        ("openat", (), ALLOW),
        ("clone", (thread,), ALLOW),
        ("clone", (process,), DENIED),
        ("clone3", (), UNKNOWN),
        ("kill", (4321,), ALLOW),
        ("kill", (4322,), DENIED),
        ("kill", (2**64 - 1,), DENIED),
        ("socket", (2,), DENIED),
    ]
    for call, arguments, outcome in expected:
        assert answer(bytes(code), numbers[call], arch, *arguments) == outcome, call
    assert answer(bytes(code), 9999, arch) == UNKNOWN
    assert answer(bytes(code), 4, 0x40000003) == KILL  # int 0x80 on an Intel machine
    closed = seccomp.compile_filter(opening=False, machine=name).code
    assert answer(closed, numbers["openat"], arch) == CLOSED
