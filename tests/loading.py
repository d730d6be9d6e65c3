"""Helpers of the tests about loading: files of the corpus through source and loader, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from grader.assignment import Settings
from grader.entry import Entry, Loaded, Problem
from grader.reading.source import Sources, units
from grader.sandbox import loader
from grader.submission import SourceFile

CORPUS = Path(__file__).parent / "corpus"
ENTRY = Entry(
    function="scaled_dot_product_attention",
    arguments=["Q", "K", "V", "mask=None"],
    returns=["output", "weights"],
    aliases=["attention", "scaled_dot_product", "self_attention", "sdpa", "forward"],
)
BANNED = ["scaled_dot_product_attention", "multi_head_attention_forward", "MultiheadAttention"]
SETTINGS = Settings(title="Attention", entry=ENTRY, files=["attention.py", "attention.ipynb"], from_scratch=BANNED)


@dataclass(frozen=True)
class Outcome:
    """A submission after loading. `loaded` and `namespace` are None when there was nothing to load."""

    sources: Sources
    loaded: Loaded | None = None
    namespace: loader.Namespace | None = None

    @property
    def problems(self) -> list[Problem]:
        found = [self.sources.problem] if self.sources.problem else []
        return found + (self.loaded.problems if self.loaded else [])

    def works(self) -> bool:
        """Whether the function computes attention, with and without a mask."""
        assert self.namespace is not None
        attend = self.namespace.function(ENTRY.function)
        Q, K, V = torch.randn(2, 5, 4), torch.randn(2, 6, 4), torch.randn(2, 6, 3)
        mask = torch.ones(5, 6).tril()
        for given in (None, mask):
            scores = Q @ K.transpose(-2, -1) / 2
            if given is not None:
                scores = scores.masked_fill(given == 0, float("-inf"))
            expected = torch.softmax(scores, -1)
            output, weights = attend(Q, K, V, given)
            if not torch.allclose(weights, expected, atol=1e-5) or not torch.allclose(output, expected @ V, atol=1e-5):
                return False
        return True


def files_at(path: Path) -> list[SourceFile]:
    """The files of a submission: one file, or all below a folder."""
    if path.is_file():
        return [SourceFile(path.name, path.read_bytes())]
    return [
        SourceFile(found.relative_to(path).as_posix(), found.read_bytes())
        for found in sorted(path.rglob("*"))
        if found.is_file()
    ]


def texts_as_files(texts: Mapping[str, str]) -> list[SourceFile]:
    return [SourceFile(path, text.encode()) for path, text in texts.items()]


@contextlib.contextmanager
def loading(files: list[SourceFile], settings: Settings = SETTINGS) -> Iterator[Outcome]:
    """Load files in this process, and take back afterwards what loading did to it."""
    sources = units(files, settings)
    if sources.problem is not None:
        yield Outcome(sources)
        return
    loaded, namespace = loader.load(sources.units, sources.files, settings.entry, settings.from_scratch)
    try:
        yield Outcome(sources, loaded, namespace)
    finally:
        namespace.release()
