"""What many tests share: one zygote, since warming it up costs more than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader import arena
from grader.sandbox.zygote import Zygote


@pytest.fixture(scope="session")
def root() -> Iterator[Zygote]:
    """A warm zygote that blocks nothing of the library, to fork students' processes from."""
    started = arena.start_zygote()
    yield started
    started.close()
