"""Forks for tests of the confinement: run a function in a child, or in a child that first became somebody else."""

from __future__ import annotations

import ctypes
import errno
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec
import torch

from grader.sandbox import canary, confine, kernel

DOCKER = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
"""The capabilities that Docker leaves to root: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID and so on."""


def in_child(body: Callable[[int], bytes]) -> bytes:
    """What `body(descriptor to keep)` returns in a forked child. Its exceptions become an AssertionError here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)  # the threads of the process that forked are not here
        try:
            answer = b"=" + body(writer)
        except BaseException:
            answer = b"!" + traceback.format_exc().encode()
        while answer:
            answer = answer[os.write(writer, answer) :]
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as source:
        answer = source.read()
    os.waitpid(child, 0)
    assert answer[:1] == b"=", answer.decode()
    return answer[1:]


def verdict(layers: frozenset[str] = frozenset(confine.LAYERS)) -> canary.Verdict:
    """The canary's verdict with these layers, as the user that this process is."""
    plan = confine.prepare()

    def ask(targets: canary.Targets) -> canary.Findings:
        def body(keep: int) -> bytes:
            policy = confine.Policy(layers, targets.memory_bytes, readable=(targets.folder,))
            applied = confine.apply(plan, policy, (keep,))
            return msgspec.json.encode(canary.probe(plan, applied, targets, (keep,)))

        return msgspec.json.decode(in_child(body), type=canary.Findings)

    return canary.try_out(ask)


def verdict_as(become: Callable[[], object]) -> canary.Verdict:
    """The canary's verdict in a process that first did `become`: changed its user, lost capabilities."""

    def body(_: int) -> bytes:
        become()
        os.environ["TMPDIR"] = "/tmp"
        return msgspec.json.encode(verdict())

    return msgspec.json.decode(in_child(body), type=canary.Verdict)


def nobody() -> None:
    """An ordinary user."""
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # as it would be after a login


def root_with(capabilities: tuple[int, ...]) -> None:
    """Root as containers have it: only these capabilities."""
    held = sum(1 << capability for capability in capabilities)
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        if capability not in capabilities:
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    low, high = held & 0xFFFFFFFF, held >> 32
    assert libc.capset(header, (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)) == 0


def rootless(ids: int = 65536) -> None:
    """Root of a user namespace, as in a container that an ordinary user started."""
    ready, mapped = os.pipe(), os.pipe()
    parent = os.getpid()
    helper = os.fork()
    if helper == 0:  # outside of the namespace, where its users may be written down
        os.read(ready[0], 1)
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{parent}/{name}").write_text(f"0 100000 {ids}")
        os.write(mapped[1], b"x")
        os._exit(0)
    assert ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
    os.write(ready[1], b"x")
    os.read(mapped[0], 1)
    os.waitpid(helper, 0)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def user_namespaces() -> bool:
    """Whether this machine lets root make user namespaces, which a container may refuse."""

    def body(_: int) -> bytes:
        rootless()
        return b"yes"

    try:
        return in_child(body) == b"yes"
    except AssertionError:
        return False


def without_landlock() -> None:
    """A container whose profile is older than Landlock."""
    import pyseccomp

    profile = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"):
        profile.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    profile.load()
