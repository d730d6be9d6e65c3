"""The student's process: confine itself, load the submission, answer calls. Everything here may be tampered with.

Whatever this process says is data about the student's work, never a verdict; the marker judges.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

import msgspec
import numpy as np
import torch
from torch import Tensor

from grader import devices
from grader.call import Layout, numbers
from grader.entry import Entry, Unit
from grader.sandbox import accelerator, canary, confine, loader, ops, wire
from grader.sandbox.invoke import Invoker, Placement
from grader.sandbox.rehearsal import rehearse
from grader.sandbox.zygote import Options


class StudentProcess:
    """The body that a zygote forks: made once, in the zygote, by `warmed`; called in each child."""

    def __init__(self, plan: confine.Plan, placement: Placement, printed: TextIO, from_scratch: list[str]) -> None:
        self.plan = plan
        self.placement = placement
        self.printed = printed
        self.from_scratch = from_scratch
        self.invoker: Invoker | None = None

    @classmethod
    def warmed(cls, *, from_scratch: list[str], trains: bool, accelerator_name: str) -> StudentProcess:
        """Do once what every child would do first: kernels, autograd, the emulator, the blocked operators."""
        # Whatever the grader's own streams were: a student prints to a pipe, and no character breaks it.
        reader, writer = os.pipe()
        os.dup2(writer, 1)
        printed = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)  # not 2: a zygote that stops says so on the grader's own
        for descriptor in (reader, writer, null):
            os.close(descriptor)
        torch.set_num_threads(1)
        placement = Placement(accelerator_name)
        if not placement.real:
            accelerator.install()
        ops.skip_compiling()
        if from_scratch:
            ops.block(from_scratch)
        rehearse(placement)
        np.random.seed(0)  # that imports it, too; what is forked starts from here
        if trains:
            torch.optim.Adam([torch.zeros(1, requires_grad=True)]).step()
        return cls(confine.prepare(), placement, printed, from_scratch)

    def __call__(self, channel: socket.socket, output: int, options: Options) -> NoReturn:
        try:
            # An open file of each child's own: flags that are set on one that is shared would be notes to the next.
            null = os.open(os.devnull, os.O_RDONLY)
            for source, target in ((null, 0), (output, 1), (output, 2)):
                os.dup2(source, target)
            sys.stdout = sys.stderr = self.printed
            policy = msgspec.convert(options["policy"], confine.Policy)
            layers = confine.apply(self.plan, policy, keep_fds=(channel.fileno(),))
            if "canary" in options:
                targets = msgspec.convert(options["canary"], canary.Targets)
                findings = canary.probe(self.plan, layers, targets, (channel.fileno(),))
                channel.sendall(wire.Packer().frame({"findings": msgspec.to_builtins(findings)}))
                os._exit(0)
            if self.placement.real:
                devices.start(self.placement.real, policy.memory_bytes >> 20)
                torch.manual_seed(0)
            # What a submission draws must be the same each time. Not torch.manual_seed: it looks at all devices first.
            torch.default_generator.manual_seed(0)
            random.seed(0)
        except BaseException as error:
            channel.sendall(wire.Packer().frame({"fault": f"{type(error).__name__}: {error}"}))
            os._exit(71)
        channel.sendall(wire.Packer().frame({"ready": list(layers)}))
        while True:
            try:
                message, tensors, layouts = wire.receive(channel)
            except EOFError:
                os._exit(0)
            for work in self._works(message, tensors, layouts):
                try:
                    reply = work()
                except BaseException:
                    # Student code has run here, so the marker can't take our word for whose fault it is; staff can.
                    reply = wire.Packer().frame({"broken": traceback.format_exc()[-4000:]})
                with contextlib.suppress(Exception):
                    sys.stdout.flush()
                channel.sendall(reply)
                del reply  # a large answer's bytes are gone before the next answer is made

    def _works(
        self, message: dict[str, Any], tensors: list[Tensor], layouts: list[Layout]
    ) -> list[Callable[[], bytes]]:
        """What a request asks for, each a frame of its own: when one kills the process, those before it are kept."""
        if "units" in message:
            return [functools.partial(self._load, message, tensors)]
        return [functools.partial(self._call, asked, tensors, layouts) for asked in message["calls"]]

    def _load(self, message: dict[str, Any], tensors: list[Tensor]) -> bytes:
        units = msgspec.convert(message["units"], list[Unit])
        files = {path: numbers(wire.pick(tensors, index)) for path, index in message["files"]}
        entry = msgspec.convert(message["entry"], Entry)
        loaded, namespace = loader.load(units, files, entry, self.from_scratch, whole=bool(message["whole"]))
        self.invoker = Invoker(namespace.function, self.placement)
        return wire.Packer().frame({"loaded": msgspec.to_builtins(loaded)})

    def _call(self, asked: dict[str, Any], tensors: list[Tensor], layouts: list[Layout]) -> bytes:
        assert self.invoker is not None
        return self.invoker.reply(asked, tensors, layouts)
