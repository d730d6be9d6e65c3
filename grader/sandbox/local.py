"""A student's own code on the student's own machine: the same interface, no confinement, nothing to mark."""

from __future__ import annotations

from grader.assignment import Settings
from grader.reading.source import Sources
from grader.sandbox import loader
from grader.sandbox.fake import FakeSession


class LocalSandbox:
    """Loads the sources into this process. Only for `grader check`, where they are the user's own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def open(self, sources: Sources, *, whole: bool = False) -> FakeSession:
        entry, banned = self.settings.entry, self.settings.from_scratch
        loaded, namespace = loader.load(sources.units, sources.files, entry, banned, whole=whole)
        session = FakeSession(namespace.function(loaded.entry.name) if loaded.entry else _nothing)
        session.loaded = loaded
        return session


def _nothing() -> None:
    """Stands where no function was found; the contract probe has said so before it could be called."""
