"""Before a large class a zygote gathers its memory, and goes on as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from confined import in_child
from torch import Tensor

from grader.sandbox import huge_pages, kernel

pytestmark = pytest.mark.skipif(not kernel.LINUX, reason="only Linux lets a process gather its memory")


def computed() -> Tensor:
    """Something for which the library runs much of its code."""
    x = torch.linspace(-1, 1, 120).reshape(2, 3, 4, 5)
    return torch.softmax(x @ x.transpose(-2, -1), dim=-1)


def mapped(rights: str) -> set[str]:
    """The mappings of this process with these rights: where, and of which file ("0" for none)."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return {" ".join((line.split()[0], line.split()[4])) for line in lines if line.split()[1] == rights}


def test_what_runs_is_the_same_afterwards() -> None:
    """The library computes the same numbers from a copy of its code, and nothing more can be both written and run."""

    def gathered(keep: int) -> bytes:
        before, both = computed(), mapped("rwxp")  # the library's compilers have some such memory of their own
        huge_pages.gather()
        assert torch.equal(computed(), before)
        assert mapped("rwxp") <= both
        return str(sum(found.endswith(" 0") for found in mapped("r-xp"))).encode()

    copies = int(in_child(gathered))
    if not copies:
        pytest.skip("this kernel does not put memory into huge pages when it is asked to: Linux 6.1 does")


def test_where_memory_may_not_be_run_all_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that refuses it (SELinux does, for some services) loses nothing, and no memory is left over."""

    def refused(address: int, length: int) -> None:
        raise PermissionError("execmem")

    def gathered(keep: int) -> bytes:
        before, code = computed(), mapped("r-xp")
        monkeypatch.setattr(kernel, "make_code", refused)
        huge_pages.gather()
        assert mapped("r-xp") == code
        huge = {found for found in mapped("rw-p") if span(found) >= huge_pages.HUGE}
        huge_pages.gather()
        assert {found for found in mapped("rw-p") if span(found) >= huge_pages.HUGE} == huge
        return b"same" if torch.equal(computed(), before) else b"different"

    assert in_child(gathered) == b"same"


def span(mapping: str) -> int:
    """Bytes of a mapping."""
    start, end = (int(address, 16) for address in mapping.split()[0].split("-"))
    return end - start
