"""What the student's code asked the library to do, and what the library refuses to do for them. Child side.

`Recorder` counts operators below autograd, where every route (functions, methods, `torch.ops`, modules) meets.
`block` replaces operators in the dispatcher itself, so no Python name, however it was come by, still reaches
the original. It changes the whole process for good: call it only where student code will run.
"""

from __future__ import annotations

import ctypes
import importlib
import re
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

# Operators that do the same job as a public name under a name of their own.
_ALSO = {
    "scaled_dot_product_attention": (
        "_flash_attention_forward",
        "_efficient_attention_forward",
        "_cudnn_attention_forward",
    ),
    "MultiheadAttention": ("_transformer_encoder_layer_fwd",),
}
_PYTHON_HOMES = ("torch.nn.functional", "torch.nn", "torch")


class Forbidden(RuntimeError):
    """The student's code used a part of the library that does the whole exercise. The text says so in plain words."""


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]  # the base has no annotations
    """While entered, counts the operators that run, forward and backward.

    ops      operator name (without the namespace, if that is `aten`) -> how often it ran
    largest  elements of the largest tensor that an operator made; views make nothing
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self._counts: dict[Any, int] = {}
        self.largest = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # to skip it, the library would import all of it: a second of the child's time

    @property
    def ops(self) -> dict[str, int]:
        named: dict[str, int] = {}
        for function, count in self._counts.items():
            name = function._schema.name.removeprefix("aten::")
            named[name] = named.get(name, 0) + count
        return named

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **kwargs) if kwargs else func(*args)
        self._counts[func] = self._counts.get(func, 0) + 1
        if isinstance(result, Tensor):
            made = result.numel()
        elif isinstance(result, (tuple, list)):
            made = max((item.numel() for item in result if isinstance(item, Tensor)), default=0)
        else:
            made = 0
        if made > self.largest and not func.is_view:
            self.largest = made
        return result


def block(names: Sequence[str]) -> None:
    """Make the parts of the library called `names` raise `Forbidden`, in this process and its forks, for good.

    A name is a public one, as in a `from_scratch` setting: "scaled_dot_product_attention", "MultiheadAttention", or a
    dotted path to a Python function or module class. Blocked are every `aten` operator whose name says the same
    words in the same order (so private variants too) and the Python function or class of that name.
    Names that nothing bears are ignored: releases of the library differ.
    """
    _override(_operators([*names, *(other for name in names for other in _ALSO.get(name, ()))]))
    for name in names:
        for function in _python_functions(name):
            _gut(function, name)


def skip_compiling() -> None:
    """Make `torch.compile` give back what it was given, in this process and its forks, for good.

    Compiled code computes the same, and in the sandbox no compiler can run: `@torch.compile` must not cost a mark.
    """

    def compile(model: Any = None, **options: Any) -> Any:
        return (lambda function: function) if model is None else model

    torch.compile = compile


def refuse(name: str) -> NoReturn:
    """Raise `Forbidden` for a use of `name`."""
    raise Forbidden(
        f"Your code uses {name} of the PyTorch library. That is not allowed here, because it does the whole task and "
        f"the exercise is to write it yourself. Remove this use and build the result from simpler operations, "
        f"for example matmul, sums and softmax."
    )


def _operators(names: list[str]) -> list[str]:
    """The `aten` operators ("aten::_native_multi_head_attention.out") that say what one of the names says."""
    found = []
    wanted = [_words(name) for name in names]
    for operator in torch._C._dispatch_get_all_op_names():
        space, _, rest = operator.partition("::")
        base = rest.partition(".")[0]
        run_together = base.replace("_", "")
        for words in wanted:
            # The cheap test first: there are thousands of operators.
            if (
                space == "aten"
                and all(word in run_together for word in words)
                and _says(words, base.strip("_").split("_"))
            ):
                found.append(operator)
                break
    return found


def _words(name: str) -> list[str]:
    """The lower-case words of snake_case or CamelCase, without the path before the last dot."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name.rpartition(".")[2])]


def _says(ours: list[str], theirs: list[str]) -> bool:
    """Whether the operator's words hold ours in order, or hold words that run together to ours."""
    remaining = iter(theirs)
    if all(word in remaining for word in ours):
        return True
    joined = "".join(ours)
    ends = range(1, len(theirs) + 1)
    return any("".join(theirs[first:end]) == joined for end in ends for first in range(end))


def _override(operators: list[str]) -> None:
    """Put a refusal in place of every kernel that the dispatcher has for these operators."""
    keys = list(_dispatch_keys())
    library = torch._C._dispatch_library("IMPL", "aten", "", __file__, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "overriding a previously registered kernel" is the point of this
        for operator in operators:
            name = operator.partition("::")[2]
            public = name.partition(".")[0]
            for key in keys:
                if torch._C._dispatch_has_kernel_for_dispatch_key(operator, key):
                    library.impl(name, key, _refusal(public))
    # Dropping the library would bring the kernels back. So it lives as long as the process, and no Python
    # object refers to it by which student code could find it.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))


def _dispatch_keys() -> Iterator[str]:
    """Every place where a kernel can stand; other members of the enumeration mark ranges or have no parser."""
    for key in torch._C.DispatchKey.__members__:
        try:
            torch._C._dispatch_has_kernel_for_dispatch_key("aten::add.Tensor", key)
        except RuntimeError:
            continue
        yield key


def _refusal(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(name)

    return refused


def _python_functions(name: str) -> Iterator[types.FunctionType]:
    """The functions written in Python under that name: the library's own, or the forward of a module class."""
    home, _, last = name.rpartition(".")
    for place in [home] if home else _PYTHON_HOMES:
        try:
            found = getattr(importlib.import_module(place), last, None)
        except ImportError:
            continue
        if isinstance(found, type):
            found = getattr(found, "forward", None)
        if isinstance(found, types.FunctionType):
            yield found


def _gut(function: types.FunctionType, name: str) -> None:
    """Give a function a body that refuses: whoever already holds the function is refused too."""
    source = (
        f"def {function.__name__}(*args, **kwargs):\n    from grader.sandbox.ops import refuse\n    refuse({name!r})\n"
    )
    made: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), made)
    function.__defaults__ = function.__kwdefaults__ = None
    function.__code__ = made[function.__name__].__code__
