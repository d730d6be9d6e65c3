"""The zygotes of the whole hostile suite, as one run of the grader has them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import arena
from grader.sandbox.zygote import Zygote

FROM_SCRATCH = ["scaled_dot_product_attention", "multi_head_attention_forward", "MultiheadAttention"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Attacks take a minute together: `make test-all` and CI run them, `make test` stays quick."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@contextlib.contextmanager
def without_staff() -> Iterator[None]:
    """A run splits its zygote off before anything of solutions/ is loaded; other tests may have loaded it here."""
    staff = {name: one for name, one in sys.modules.items() if "/solutions/" in str(getattr(one, "__file__", ""))}
    path = list(sys.path)
    for name in staff:
        del sys.modules[name]
    sys.path[:] = [folder for folder in path if "/solutions/" not in folder]
    yield
    sys.modules.update(staff)
    sys.path[:] = path


@pytest.fixture(scope="session")
def zygotes() -> Iterator[tuple[Zygote, Zygote]]:
    """One that blocks nothing of the library, and one that blocks its attention. Split off before anything else."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the confinement is Linux's")
    with without_staff():
        made = arena.start_zygote(), arena.start_zygote(FROM_SCRATCH)
    yield made
    for zygote in made:
        zygote.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(zygote.pid, 0)


@pytest.fixture(scope="session")
def root(zygotes: tuple[Zygote, Zygote]) -> Zygote:
    return zygotes[0]


@pytest.fixture(scope="session")
def from_scratch(zygotes: tuple[Zygote, Zygote]) -> Zygote:
    return zygotes[1]


@pytest.fixture
def world(root: Zygote) -> Iterator[arena.World]:
    """Made after the zygote, as everything that is worth attacking must be."""
    with arena.World() as made:
        yield made
