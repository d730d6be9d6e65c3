"""A student's own code on the student's own machine: the same interface, no confinement, nothing to mark."""

from __future__ import annotations

from grader.assignment import Settings
from grader.entry import Loaded
from grader.reading.source import Sources
from grader.sandbox import loader
from grader.sandbox.fake import FakeSession
from grader.sandbox.loader import Namespace
from grader.sandbox.siblings import forget


class LocalSandbox:
    """Loads the sources into this process. Only for `grader check`, where they are the user's own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def open(self, sources: Sources, *, whole: bool = False) -> LocalSession:
        forget()  # what a session before this one imported, of which it may have run only parts
        entry, banned = self.settings.entry, self.settings.from_scratch
        return LocalSession(*loader.load(sources.units, sources.files, entry, banned, whole=whole))


class LocalSession(FakeSession):
    """See `Session`."""

    def __init__(self, loaded: Loaded, namespace: Namespace) -> None:
        super().__init__(namespace.function(loaded.entry.name) if loaded.entry else _nothing)
        self.loaded = loaded
        self.namespace = namespace

    def close(self) -> None:
        self.namespace.release()


def _nothing() -> None:
    """Stands where no function was found; the contract probe has said so before it could be called."""
