"""Staff are shown the lines that reach for what is around a submission, and no honest work is flagged."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import suspicion
from grader.authoring.master import reference_source
from grader.entry import Unit
from grader.reading.source import Sources
from grader.suspicion import MOST

ROOT = Path(__file__).parent.parent


def found(text: str) -> list[tuple[int, str]]:
    made = suspicion.flags(Sources([Unit("attention.py", None, text)]))
    return [(flag.place.line if flag.place else 0, flag.message) for flag in made]


@pytest.mark.parametrize(
    "line",
    [
        "from grader.sandbox import accelerator",
        "m = sys.modules['grader.sandbox.ops']",
        "frame = inspect.currentframe().f_back",
        "for thing in gc.get_objects():",
        "type(Q).__torch_dispatch__.__globals__['emulate'] = None",
        "import ctypes",
        "os._exit(0)",
        "open('/proc/self/maps')",
        "torch.allclose = lambda *a: True",
        "torch.nn.functional.softmax = mine",
    ],
)
def test_reaching_out_is_flagged(line: str) -> None:
    """The line and its number are shown, with what it does."""
    assert [at for at, _ in found(f"import torch\n\n{line}\n")] == [3]


@pytest.mark.parametrize(
    "line",
    [
        "def f(Q: torch.Tensor, mask: torch.Tensor = None) -> torch.Tensor:",
        "torch.backends.cudnn.deterministic = True",
        "scores = torch.full_like(Q, 0.0, dtype=torch.float32)",
        "if __name__ == '__main__':",
        "# import ctypes would be overdoing it",
        "import os, sys, math, time, random",
        "os.path.join('data', 'x')",
        "graders = 3  # the grader runs this",
    ],
)
def test_ordinary_lines_are_not_flagged(line: str) -> None:
    """What is written every day in honest work raises no flag."""
    assert found(line) == []


def test_honest_work_is_not_flagged() -> None:
    """In our references and made-up classes only the submission that really ends the process is flagged."""
    for path in sorted(ROOT.glob("solutions/*/")):
        works = [work.read_text(encoding="utf-8", errors="replace") for work in path.glob("sample_class/**/*.py")]
        if (path / f"{path.name}.py").is_file():
            works.append(reference_source(path / f"{path.name}.py"))
        assert all("_exit" in text for text in works if found(text))


def test_flags_are_few() -> None:
    """A submission made of such lines gives a handful of flags, and a monstrous line does no harm."""
    assert len(found("import ctypes\n" * 10000)) == MOST
    assert found("torch" + ".a" * 10**6 + "\n" + "\\" * 10**6) == []
