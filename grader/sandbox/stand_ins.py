"""Inert replacements for what plots, shows progress or talks to Colab: it does no harm and computes nothing.

They are used even where the real package is installed, so that every machine does the same. Nothing that
could take part in a computation (numpy, pandas, einops, ...) is replaced: a wrong number would be worse than
a clear message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, NoReturn

ROOTS = frozenset(
    {
        "IPython", "altair", "bertviz", "bokeh", "comet_ml", "gdown", "graphviz", "ipywidgets", "ipytest",
        "kagglehub", "livelossplot", "matplotlib", "mlflow", "mpl_toolkits", "nbgrader", "otter", "plotly",
        "pylab", "seaborn", "tensorboard", "tensorboardX", "torchinfo", "torchsummary", "torchviz", "tqdm",
        "wandb",
    }
)  # fmt: skip
INSIDE = ("google.colab", "torch.utils.tensorboard")
"""Stand-ins inside packages that may be real."""


def stands_in(module: str) -> bool:
    """Whether `module` (dotted) is replaced."""
    return module.partition(".")[0] in ROOTS or any(module == name or module.startswith(name + ".") for name in INSIDE)


class Inert:
    """Accepts anything, does nothing, and gives itself back."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _KNOWN.get(name) or Inert(name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options and callable(args[0]) and not isinstance(args[0], Inert):
            return args[0]  # used as a decorator
        return Inert(self._name)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Inert:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_name":
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<{self._name or 'stand-in'}: left out by the grader>"


class InertModule(ModuleType):
    """A module whose every name is inert."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "Stands in for a package that is not needed for grading.")
        self.__path__: list[str] = []
        self.__all__: list[str] = []
        self.__version__ = "0"
        if name.partition(".")[0] == "tqdm":
            self.tqdm = self.tqdm_notebook = Progress
            self.trange = lambda *bounds, **options: Progress(range(*bounds))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _KNOWN.get(name) or Inert(name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return Inert()(*args, **options)


class Progress(Inert):
    """A progress bar that shows nothing: gives what it was made from."""

    def __init__(self, iterable: Iterable[Any] = (), *args: Any, **options: Any) -> None:
        super().__init__("tqdm")
        object.__setattr__(self, "_iterable", iterable)

    def __iter__(self) -> Iterator[Any]:
        return iter(object.__getattribute__(self, "_iterable"))

    def __len__(self) -> int:
        return len(object.__getattribute__(self, "_iterable"))


def _pair(*args: Any, **options: Any) -> tuple[Inert, Inert]:
    return Inert("figure"), Inert("axes")


def _one(*args: Any, **options: Any) -> list[Inert]:
    return [Inert("line")]


def _nothing(*args: Any, **options: Any) -> dict[str, Any]:
    return {}


_KNOWN: dict[str, Callable[..., Any]] = {"subplots": _pair, "plot": _one, "upload": _nothing}


class Missing:
    """Stands for a name that an import could not give: says so when, and only when, it is used."""

    def __init__(self, message: str, package: str) -> None:
        object.__setattr__(self, "_missing", (message, package))

    def _fail(self, *args: Any, **options: Any) -> NoReturn:
        message, package = object.__getattribute__(self, "_missing")
        raise ModuleNotFoundError(message, name=package)

    def __getattr__(self, name: str) -> NoReturn:
        self._fail()

    __call__ = __mro_entries__ = __getitem__ = __iter__ = _fail


def ask(prompt: object = "") -> NoReturn:
    """Replaces `input`: nobody is there to answer."""
    raise EOFError("input() was called, but nobody can type an answer while the work is graded")


def builtins_for_notebooks() -> dict[str, Any]:
    """The names that a notebook has without importing them, and `input`."""
    return {
        "input": ask,
        "display": lambda *things, **options: None,
        "get_ipython": lambda: Inert("get_ipython"),
    }
