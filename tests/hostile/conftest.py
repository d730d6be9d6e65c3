"""One zygote for the whole hostile suite, as one run of the grader has."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import pytest

from grader import arena
from grader.sandbox.zygote import Zygote


@pytest.fixture(scope="session")
def root() -> Iterator[Zygote]:
    if not sys.platform.startswith("linux"):
        pytest.skip("the confinement is Linux's")
    zygote = arena.start_zygote()
    yield zygote
    zygote.close()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(zygote.pid, 0)


@pytest.fixture
def world(root: Zygote) -> Iterator[arena.World]:
    """Made after the zygote, as everything that is worth attacking must be."""
    with arena.World() as made:
        yield made
