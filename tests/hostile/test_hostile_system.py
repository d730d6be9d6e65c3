"""Attacks on files, processes, the network and other people's runs: what each got, in every setting."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import pytest

from grader import arena
from grader.sandbox.zygote import Zygote
from tests import confined

ATTACKS = arena.attacks("system")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
REMAIN_FOR_ORDINARY_USERS = ["24_stat_secret"]
"""Named in docs/threat-model.md: without a user of its own, student code can learn that a file exists."""


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.path.stem)
def test_attack_gets_nothing(attack: arena.Attack, root: Zygote, world: arena.World) -> None:
    """At level A the attack gets nothing, nothing is changed, nothing leaves; for an ordinary user, what is named."""
    outcome = arena.attempt(root, world, attack)
    if os.geteuid() != 0 and attack.path.stem in REMAIN_FOR_ORDINARY_USERS:
        assert not outcome.disturbed
    else:
        assert not outcome.got, (outcome.loot, outcome.disturbed)
    assert world.secret not in repr(outcome)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.path.stem)
def test_attack_is_real(attack: arena.Attack, root: Zygote, world: arena.World) -> None:
    """Without layers the same attack succeeds, unless its file says why it never can: what stops it is the layers."""
    outcome = arena.attempt(root, world, attack, frozenset())
    if not attack.never:
        if os.geteuid() != 0 and attack.path.stem in ("05_replace_grader", "19_become_root"):
            pytest.skip("an ordinary user can't do this to begin with")
        assert outcome.got, outcome.failure


@as_root
@pytest.mark.parametrize(
    ("become", "remaining"),
    [
        (lambda: confined.root_with(confined.DOCKER), []),
        (confined.rootless, []),
        (lambda: confined.root_with(()), REMAIN_FOR_ORDINARY_USERS),
        (confined.nobody, REMAIN_FOR_ORDINARY_USERS),
        (confined.without_landlock, []),
    ],
    ids=["Docker", "rootless container", "root without capabilities", "ordinary user", "no Landlock"],
)
def test_what_remains_in_other_settings(become: Callable[[], object], remaining: list[str]) -> None:
    """In a container nothing succeeds either; for an ordinary user, only what the threat model names."""

    if become is confined.rootless and not confined.user_namespaces():
        pytest.skip("user namespaces are refused here")

    def body(_: int) -> bytes:
        become()
        os.environ["HOME"] = "/"
        staff = str(arena.ROOT / "solutions")  # other tests may have loaded it; a run's zygote splits off before
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(staff):
                del sys.modules[name]
        root = arena.start_zygote()
        with arena.World() as world:
            outcomes = {attack.path.stem: arena.attempt(root, world, attack) for attack in ATTACKS}
        root.close()
        return json.dumps([name for name, outcome in outcomes.items() if outcome.got]).encode()

    assert json.loads(confined.in_child(body)) == remaining


@as_root
def test_own_modules_work_without_landlock() -> None:
    """Where Landlock is missing no file can be opened, but a submission's own modules can still be imported."""
    source = "from helper import twice\n\n\ndef attack(world):\n    return twice(21)\n"

    def body(_: int) -> bytes:
        confined.without_landlock()
        root = arena.start_zygote()
        session = arena.open_source(root, source, files={"helper.py": b"def twice(x):\n    return 2 * x\n"})
        call = session.call(({},), {})
        session.close()
        root.close()
        return repr((call.output, call.failure)).encode()

    assert confined.in_child(body) == b"(42, None)"


def test_honest_work_goes_on(root: Zygote, world: arena.World) -> None:
    """Beside all attacks an honest submission still computes, imports, reads its own files and prints."""
    source = """
import collections.abc, colorsys, json, math, random, statistics
import numpy as np
import torch
from torch import nn
from helper import twice

def attack(world):
    print("working")
    layer = nn.Linear(2, 2)
    torch.einsum("ij,kj->ik", layer.weight, layer.weight).softmax(-1).sum().backward()
    assert layer.weight.grad.shape == (2, 2) and np.linalg.norm(np.ones(4)) == 2.0
    return [twice(21), open("data.txt").read(), open("folder/more.txt").read(), sorted(__import__("os").listdir("."))]
"""
    files = {"helper.py": b"def twice(x):\n    return 2 * x\n", "data.txt": b"mine", "folder/more.txt": b"too"}
    session = arena.open_source(root, source, files=files)
    call = session.call((world.described(),), {})
    printed = session.output
    session.close()
    assert call.failure is None, call.failure
    assert call.output == [42, "mine", "too", ["data.txt", "folder", "helper.py"]]
    assert "working" in printed
    assert not world.disturbed()


def test_submissions_can_not_meet(root: Zygote, world: arena.World) -> None:
    """Two submissions that run at the same time can't read each other's files, nor see or signal each other."""
    victim = arena.open_source(root, "def attack(world):\n    return 1\n", files={"own.txt": b"my homework"})
    assert victim.folder is not None
    assert victim.process is not None
    source = f"""
import os

def attack(world):
    got = []
    for way in (
        lambda: open({str(victim.folder / "own.txt")!r}).read(),
        lambda: os.listdir({str(victim.folder)!r}),
        lambda: os.kill({victim.process.pid}, 0),
        lambda: open("/proc/{victim.process.pid}/maps").read(),
    ):
        try:
            got.append(str(way()))
        except OSError:
            pass
    return got
"""
    attacker = arena.open_source(root, source)
    try:
        assert attacker.call((world.described(),), {}).output == []
        assert victim.call((world.described(),), {}).output == 1
    finally:
        attacker.close()
        victim.close()


def test_zygote_is_clean(root: Zygote) -> None:
    """46. The process that every student's process is copied from has one thread and no open file of the grader's."""
    with open(f"/proc/{root.pid}/status") as status:  # noqa: PTH123
        assert "Threads:\t1\n" in status.read()
    open_files = [os.readlink(f"/proc/{root.pid}/fd/{name}") for name in os.listdir(f"/proc/{root.pid}/fd")]  # noqa: PTH115, PTH208
    assert not [name for name in open_files if str(arena.ROOT) in name]


def test_no_note_stays_on_a_descriptor(root: Zygote, world: arena.World) -> None:
    """34. What a submission sets on its standard streams, which are files that are open, no other one finds there."""
    source = """
import fcntl, os

def attack(world):
    flags = [fcntl.fcntl(stream, fcntl.F_GETFL) for stream in (0, 1, 2)]
    for stream, flag in enumerate(flags):
        fcntl.fcntl(stream, fcntl.F_SETFL, flag | os.O_APPEND | os.O_NONBLOCK)
    return flags
"""
    found = []
    for _ in range(2):
        session = arena.open_source(root, source)
        found.append(session.call((world.described(),), {}).output)
        session.close()
    assert found[0] is not None
    assert found[1] == found[0]
