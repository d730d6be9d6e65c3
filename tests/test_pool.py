"""The pool of markers: everything handed out comes back once, whatever dies on the way."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.pool import TRIES, Channel, Job, Pool
from grader.sandbox import zygote
from grader.sandbox.zygote import Zygote


@pytest.fixture(scope="module")
def root() -> Iterator[Zygote]:
    started = zygote.start(lambda: lambda *_: os._exit(0))
    yield started
    started.close()


def answering(answer: Callable[[bytes], bytes]) -> Callable[[Zygote, Channel], None]:
    def body(_: Zygote, channel: Channel) -> None:
        while (message := channel.receive()) is not None:
            channel.send(answer(message))

    return body


def jobs(count: int) -> Iterator[Job]:
    for number in range(count):
        yield Job(str(number), str(number).encode())


def test_every_job_comes_back_with_its_own_answer(root: Zygote) -> None:
    """Fifty jobs over three processes: each answer belongs to its job."""
    with Pool(3, root, answering(lambda message: message * 2), patience=60) as pool:
        answers = dict(pool.map(jobs(50)))
    assert answers == {str(number): str(number).encode() * 2 for number in range(50)}


def test_a_process_that_dies_is_replaced_and_its_job_tried_again(root: Zygote, tmp_path: Path) -> None:
    """A marker killed in the middle costs nothing: its job is done by another."""
    mark = tmp_path / "once"

    def answer(message: bytes) -> bytes:
        if message == b"3" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return message

    with Pool(2, root, answering(answer), patience=60) as pool:
        assert dict(pool.map(jobs(8))) == {str(number): str(number).encode() for number in range(8)}


def test_a_job_that_always_kills_is_given_up_and_named(root: Zygote, tmp_path: Path) -> None:
    """One poisonous job is reported after a few tries; the others are done."""

    def answer(message: bytes) -> bytes:
        if message == b"1":
            with (tmp_path / "tries").open("a") as file:
                file.write("x")
            os._exit(1)
        return message

    with Pool(2, root, answering(answer), patience=60) as pool:
        answers = dict(pool.map(jobs(4)))
    assert answers == {"0": b"0", "1": None, "2": b"2", "3": b"3"}
    assert len((tmp_path / "tries").read_text()) == TRIES


def test_a_stuck_process_is_replaced(root: Zygote, tmp_path: Path) -> None:
    """A marker that does not answer within the pool's patience is our fault, and is replaced."""
    mark = tmp_path / "once"

    def answer(message: bytes) -> bytes:
        if not mark.exists():
            mark.touch()
            time.sleep(60)
        return message

    with Pool(1, root, answering(answer), patience=0.5) as pool:
        assert dict(pool.map(jobs(2))) == {"0": b"0", "1": b"1"}


def test_jobs_are_read_only_when_somebody_is_free(root: Zygote) -> None:
    """Memory stays flat: no more submissions are read than there are processes."""
    read: list[str] = []

    def source() -> Iterator[Job]:
        for job in jobs(10):
            read.append(job.key)
            yield job

    with Pool(2, root, answering(lambda message: message), patience=60) as pool:
        for done, _ in enumerate(pool.map(source()), 1):
            assert len(read) <= done + 2
