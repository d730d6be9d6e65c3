"""Imports of a student's code: their own other files from memory, stand-ins for plots, and all else as usual.

Their files never take the place of torch, numpy or the standard library, whatever they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from grader.sandbox.stand_ins import InertModule, stands_in

_PROTECTED = frozenset(sys.stdlib_module_names) | {"torch", "numpy", "grader"}
_FOLDER = "handed-in:"
"""Marks the `__path__` of a package of theirs, which is not a folder of this machine."""


class Siblings(MetaPathFinder):
    """A finder for `sys.meta_path`; in front, so that every machine finds the same."""

    def __init__(self, files: Mapping[str, bytes], folder: str, run: Callable[[ModuleType, str, bytes], None]) -> None:
        self._files = files
        self._folder = folder
        self._run = run

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if stands_in(fullname):
            return ModuleSpec(fullname, _StandIns(), is_package=True)
        if fullname == "google":
            return PathFinder.find_spec(fullname) or ModuleSpec(fullname, _StandIns(), is_package=True)
        if path is None:
            return None if fullname in _PROTECTED else self._top(fullname)
        own = [entry[len(_FOLDER) :] for entry in path if entry.startswith(_FOLDER)]
        return self._inside(fullname, own[0], fullname.rpartition(".")[2]) if own else None

    def _top(self, name: str) -> ModuleSpec | None:
        for folder in dict.fromkeys((self._folder, "")):
            spec = self._inside(name, folder, name)
            if spec is not None:
                return spec
        deeper = sorted(
            (path for path in self._files if path.endswith(f"/{name}.py")),
            key=lambda path: (path.count("/"), path),
        )
        return self._spec(name, deeper[0]) if deeper else None

    def _inside(self, fullname: str, folder: str, name: str) -> ModuleSpec | None:
        stem = f"{folder}/{name}" if folder else name
        if f"{stem}/__init__.py" in self._files:
            return self._spec(fullname, f"{stem}/__init__.py", package=stem)
        if f"{stem}.py" in self._files:
            return self._spec(fullname, f"{stem}.py")
        if any(path.startswith(stem + "/") and path.endswith(".py") for path in self._files):
            return self._spec(fullname, "", package=stem)
        return None

    def _spec(self, fullname: str, path: str, package: str | None = None) -> ModuleSpec:
        loader = OwnFile(path, self._files.get(path, b""), self._run)
        spec = ModuleSpec(fullname, loader, origin=path, is_package=package is not None)
        if package is not None:
            spec.submodule_search_locations = [_FOLDER + package]
        return spec


class OwnFile(Loader):
    """Loads one of the student's other files."""

    def __init__(self, path: str, data: bytes, run: Callable[[ModuleType, str, bytes], None]) -> None:
        self._path, self._data, self._run = path, data, run

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._path
        self._run(module, self._path, self._data)


class _StandIns(Loader):
    """Loads a stand-in."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return InertModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        return None


def is_ours(module: ModuleType) -> bool:
    """Whether `module` came from a `Siblings` finder, and so must go when the submission goes."""
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return isinstance(loader, (OwnFile, _StandIns))


def forget() -> None:
    """Take their modules out of `sys.modules`: the next import makes them anew."""
    for name, module in sys.modules.copy().items():
        if is_ours(module):
            del sys.modules[name]
