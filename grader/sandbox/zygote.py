"""The zygote: a clean, torch-warm, single-threaded process that forks one child for each submission.

It is split off before anything of `solutions/` or of any submission is read, so what it forks inherits no secret.
A zygote answers four requests on its control socket: fork a student child (with its channel and its output pipe as
passed descriptors), fork another zygote (one for each marker), reap a child, and make forks cheap. When the control
socket closes, whoever owned it is gone: the zygote kills its children and ends.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from grader.errors import SandboxError
from grader.sandbox import huge_pages

Options = dict[str, Any]
"""What a student child needs to know before anything of the submission is read: its policy. Plain JSON."""
MAX_MESSAGE = 65536
CLOSED = "The process that starts sandboxes has ended unexpectedly."


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What its owner asks of a zygote."""

    action: str
    """"student", "zygote", "reap" or "settle"."""
    pid: int = 0
    options: Options = {}


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a zygote has done; signal and exit status are those of a child that was reaped."""

    pid: int
    """The child's; a zygote's own where it forked and reaped nothing."""
    signal: int = 0
    exit: int = 0


Body = Callable[[socket.socket, int, Options], NoReturn]
"""What a student child does: (channel, output descriptor, options). Never returns."""

_encode = msgspec.json.encode
_decode_reply = msgspec.json.Decoder(Reply).decode
_decode_request = msgspec.json.Decoder(Request).decode


@dataclass(frozen=True)
class Death:
    """How a child ended, as the kernel told its zygote."""

    pid: int
    signal: int
    exit: int


class Zygote:
    """The owner's end: asks a zygote to fork and to reap. Raises SandboxError when the zygote is gone."""

    def __init__(self, control: socket.socket, pid: int) -> None:
        self.control = control
        self.pid = pid

    def fork_student(self, options: Options) -> tuple[int, socket.socket, int]:
        """A fresh child: (pid, our end of its channel, the end of its output pipe to read from)."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        reader, writer = os.pipe()
        try:
            reply = self._ask(Request(action="student", options=options), [theirs.fileno(), writer])
        except BaseException:
            ours.close()
            os.close(reader)
            raise
        finally:
            theirs.close()
            os.close(writer)
        os.set_blocking(reader, False)
        return reply.pid, ours, reader

    def fork_zygote(self) -> Zygote:
        """Another zygote, as clean as this one, for a marker of its own."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            reply = self._ask(Request(action="zygote"), [theirs.fileno()])
        return Zygote(ours, reply.pid)

    def settle(self) -> None:
        """Make all further forks cheap, here and in zygotes forked later. Pays from some 100 submissions on."""
        self._ask(Request(action="settle"), [])

    def reap(self, pid: int) -> Death:
        """Kill the child if it still lives, wait for it, and say how it ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        reply = self._ask(Request(action="reap", pid=pid), [])
        return Death(pid, reply.signal, reply.exit)

    def close(self) -> None:
        """Let the zygote and everything that it forked end, and wait for it if it is this process's own child."""
        self.control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _ask(self, request: Request, descriptors: list[int]) -> Reply:
        try:
            socket.send_fds(self.control, [_encode(request)], descriptors)
            answer = self.control.recv(MAX_MESSAGE)
        except OSError as error:
            raise SandboxError(f"{CLOSED} ({error})") from None
        if not answer:
            raise SandboxError(CLOSED)
        return _decode_reply(answer)


def start(warmed: Callable[[], Body]) -> Zygote:
    """Fork the root zygote from this (clean, single-threaded) process.

    `warmed` runs in it once, before it serves, and gives what its student children do.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _be_zygote(theirs, warmed)
    theirs.close()
    return Zygote(ours, pid)


def _be_zygote(control: socket.socket, warmed: Callable[[], Body]) -> NoReturn:
    """The whole life of a zygote process."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the owner's to handle; its socket closes when it ends
        close_all_but(control.fileno())
        body = warmed()
        gc.freeze()  # children must not walk, and so copy, what they share
        _serve(control, body)
    except BaseException as error:  # nothing above may take over in a forked process
        os.write(2, f"grader: a zygote stopped: {error!r}\n".encode())
    finally:
        os._exit(0)


def _serve(control: socket.socket, body: Body) -> None:
    children: set[int] = set()
    with contextlib.suppress(ConnectionError):  # an owner that was stopped in the middle breaks off: it ended, too
        _answer(control, body, children)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:  # leave no process behind, and let the owner's accounts see what each of them cost
            os.waitpid(-1, 0)


def _answer(control: socket.socket, body: Body, children: set[int]) -> None:
    """Do what the owner asks until it closes its end; `children` are those that it has not reaped."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, 4)
        if not data:
            return
        request = _decode_request(data)
        if request.action == "reap":
            reply = _reap(request.pid)
            children.discard(request.pid)
        elif request.action == "settle":
            huge_pages.gather()
            reply = Reply(pid=os.getpid())
        else:
            pid = os.fork()
            if pid == 0:
                if request.action == "zygote":
                    control.close()
                    _be_zygote(socket.socket(fileno=descriptors[0]), lambda: body)
                _be_student(control, descriptors, body, request)
            children.add(pid)
            reply = Reply(pid=pid)
        for descriptor in descriptors:
            os.close(descriptor)
        control.sendall(_encode(reply))


def _be_student(control: socket.socket, descriptors: list[int], body: Body, request: Request) -> NoReturn:
    try:
        control.close()
        body(socket.socket(fileno=descriptors[0]), descriptors[1], request.options)
    finally:
        os._exit(70)


def _reap(pid: int) -> Reply:
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return Reply(pid=pid)
    return Reply(
        pid=pid,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
    )


def close_all_but(*keep: int) -> None:
    """Close every descriptor but the standard three and `keep`: nothing of the owner's stays reachable."""
    first = 3
    for descriptor in sorted(keep):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
