"""The process on a cluster's machine that marks: clean, single-threaded, started anew rather than forked.

A Dask worker has threads, so it must never fork; it starts `python -I -m grader.cluster.host N FOLDER` with a clean
environment and speaks whole messages over the socket with descriptor N: terms, then (once the zygote has split off)
the package with the secret, then one submission after the other. The assignment is laid out in FOLDER, a private
folder that the worker made and removes.
"""

from __future__ import annotations

import contextlib
import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

import grader
from grader import batch
from grader.assignment import Assignment
from grader.cluster import parcel
from grader.cluster.parcel import Pages, Ready, Terms
from grader.errors import GraderError
from grader.ground import ground, refuse_below
from grader.pages.render import Renderer
from grader.pool import Channel, Job, Pool
from grader.reporting import Circumstances
from grader.results import Report, encode
from grader.serving import Service

IDLE_SECONDS = 900.0
IDLE = (
    "grader: This marking process has had nothing to do for {minutes:.0f} minutes and ends. Nothing is lost: if the "
    "run goes on, the next submission starts a new one."
)


def main(descriptor: int, folder: Path) -> None:
    """Serve until the other end closes."""
    channel = Channel(socket.socket(fileno=descriptor))
    with contextlib.suppress(ConnectionError):
        message = channel.receive()
        if message is None:
            return
        try:
            _serve(channel, parcel.decode_terms(message), folder)
        except GraderError as error:
            channel.send(parcel.encode(Ready(fault=str(error))))
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # the worker does so too, unless it was killed


def _serve(channel: Channel, terms: Terms, folder: Path) -> None:
    public = Assignment(terms.name, Path(), Path(), terms.settings)
    with ground(public, terms.device) as base:
        refuse_below(base, terms.floor)
        channel.send(
            parcel.encode(
                Ready(
                    level=base.canary.level,
                    layers=list(base.canary.layers),
                    device=base.device,
                    grader=grader.__version__,
                    torch=str(torch.__version__),
                    python=".".join(platform.python_version_tuple()[:2]),
                )
            )
        )
        # Only from here on is there a secret in this process.
        message = channel.receive()
        if message is None:
            return
        package = parcel.decode_package(message)
        try:
            assignment = parcel.unpack(package, terms, folder)
        except (GraderError, OSError) as error:
            channel.receive()
            channel.send(parcel.encode(Pages(fault=f"The assignment can't be laid out: {error}", exit_status=1)))
            return
        templates = (assignment.staff / "templates", folder / "templates")

        def answer(report: Report, renderer: Renderer) -> bytes:
            final = package.policy(report)
            html = renderer.html(final, audience="student")
            markdown = renderer.markdown(final, audience="student")
            return parcel.encode(Pages(encode(final), _bytes(html), _bytes(markdown)))

        service = Service(
            assignment,
            Circumstances(package.secret, base.canary.level, base.device),
            base.real,
            tuple(path for path in templates if path.is_dir()),
            answer=answer,
            fault=lambda error: parcel.encode(Pages(fault=str(error), exit_status=error.exit_status)),
        )
        base.root.settle()
        with Pool(1, base.root, service, patience=batch.patience(assignment)) as pool:
            for _, answered in pool.map(_jobs(channel)):
                channel.send(answered or parcel.encode(Pages(fault="The marker process died each time.")))


def _jobs(channel: Channel) -> Iterator[Job]:
    """One at a time: the pool asks for the next only when it has answered the last. Ends when nothing comes any more:
    a command that was killed can't tell its hosts to end."""
    while True:
        channel.socket.settimeout(IDLE_SECONDS)
        try:
            message = channel.receive()
        except TimeoutError:
            print(IDLE.format(minutes=IDLE_SECONDS / 60), file=sys.stderr, flush=True)
            return
        if message is None:
            return
        channel.socket.settimeout(None)
        yield Job("", message)


def _bytes(page: str) -> bytes:
    return page.encode("utf-8", "replace")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
