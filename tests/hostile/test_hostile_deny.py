"""Submissions that hang, crash, flood or lie on the channel: each ends in time, named for what it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader import arena
from grader.assignment import Limits
from grader.sandbox.zygote import Zygote

ATTACKS = arena.attacks("deny")
LIMITS = Limits(load_seconds=0.8, call_seconds=0.8, total_seconds=4, memory_mb=200, output_mb=1)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.path.stem)
def test_ends_and_is_named(attack: arena.Attack, root: Zygote, world: arena.World) -> None:
    """The run goes on, the end is called what it was, nothing is left behind, and the next student is not hurt."""
    kind = attack.ends.removesuffix(" while loading")
    session = arena.open_source(root, attack.source, LIMITS)
    if kind != attack.ends:
        assert [problem.kind for problem in session.loaded.problems] == [kind]
        assert session.loaded.problems[0].message
    else:
        call = session.call((world.described(),), {})
        assert (call.failure.kind if call.failure else "answer") == kind, call.failure
        if isinstance(call.output, int):
            assert call.output < 200  # threads or files that it could take for itself
        if "clocks" in attack.path.stem:
            assert session.spent >= 0.2
    session.close()
    assert session.deaths
    assert not any(Path(f"/proc/{death.pid}").exists() for death in session.deaths)
    assert not world.disturbed()
    honest = arena.open_source(root, "def attack(world):\n    return 'fine'\n", LIMITS)
    assert honest.call((world.described(),), {}).output == "fine"
    honest.close()


def test_one_bad_call_costs_one_call(root: Zygote, world: arena.World) -> None:
    """After a crash or a time-out the same submission is started again and can still answer."""
    source = """
import os

def attack(what):
    if what == "crash":
        os.abort()
    while what == "hang":
        pass
    return what
"""
    session = arena.open_source(root, source, LIMITS)
    answers = [session.call((what,), {}) for what in ("one", "crash", "two", "hang", "three")]
    session.close()
    assert [call.output for call in answers] == ["one", None, "two", None, "three"]
    assert [call.failure and call.failure.kind for call in answers] == [None, "crash", None, "timeout", None]


def test_time_for_everything_is_bounded(root: Zygote, world: arena.World) -> None:
    """A submission whose every call hangs spends its total once, not once a call."""
    limits = Limits(load_seconds=1, call_seconds=0.2, total_seconds=0.5)
    session = arena.open_source(root, "import time\n\ndef attack(world):\n    time.sleep(9)\n", limits)
    calls = [session.call((world.described(),), {}) for _ in range(40)]
    session.close()
    assert {call.failure.kind for call in calls if call.failure} == {"timeout"}
    assert session.spent < 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a run a user of its own")
def test_left_over_processes_are_swept(root: Zygote, world: arena.World) -> None:
    """40. Where seccomp is missing, a process that a submission left behind does not outlive it."""
    source = """
import os, time

def attack(world):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    time.sleep(0.1)
    return os.getuid()
"""
    layers = frozenset({"rlimits", "uid", "landlock"})
    session = arena.open_source(root, source, LIMITS, layers=layers)
    uid = session.call((world.described(),), {}).output
    session.close()
    living = []
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            text = path.read_text()
        except OSError:
            continue
        if f"Uid:\t{uid}\t" in text and "State:\tZ" not in text:
            living.append(path)
    assert not living
