"""What many tests share: one zygote, since warming it up costs more than most tests, and what is made once."""

from __future__ import annotations

import functools
import gc
import io
from collections.abc import Iterator

import pytest
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from grader import arena
from grader.pages import render
from grader.sandbox.zygote import Zygote

gc.disable()  # until all is imported and collected, which makes no garbage


def pytest_collection_finish() -> None:
    """What is there now stays to the end: no search for garbage looks through the library again, here or in a fork."""
    gc.freeze()
    gc.set_threshold(10_000)  # a few tests, and not a few lines, between two searches
    gc.enable()


@pytest.fixture(scope="session")
def root() -> Iterator[Zygote]:
    """A warm zygote that blocks nothing of the library, to fork students' processes from."""
    started = arena.start_zygote()
    started.settle()
    yield started
    started.close()


class Compiled(BytecodeCache):
    """Templates that have been compiled in this process; one that changes is compiled again."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._code:
            bucket.load_bytecode(io.BytesIO(self._code[bucket.key]))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key] = bucket.bytecode_to_string()


@pytest.fixture(scope="session", autouse=True)
def compiled_once() -> Iterator[None]:
    """A command makes its pages once; the tests make them a hundred times, from the same templates."""
    with pytest.MonkeyPatch.context() as patched:
        remembering = functools.partial(render.Environment, bytecode_cache=Compiled())
        patched.setattr(render, "Environment", remembering)
        yield
