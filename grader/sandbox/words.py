"""What a student reads when their code can't be loaded: what, where, and how to mend it."""

from __future__ import annotations

import re

from grader.entry import Problem, Unit
from grader.results import Place
from grader.sandbox.failure import describe, place, text_of, where

IMPORTS = {
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "np": "import numpy as np",
    "math": "import math",
    "plt": "import matplotlib.pyplot as plt",
    "pd": "import pandas as pd",
    "random": "import random",
    "time": "import time",
    "os": "import os",
    "sys": "import sys",
    "copy": "import copy",
    "Tensor": "from torch import Tensor",
    "softmax": "from torch.nn.functional import softmax",
    "sqrt": "from math import sqrt",
    "partial": "from functools import partial",
    "dataclass": "from dataclasses import dataclass",
    "rearrange": "from einops import rearrange",
    **{
        name: f"from typing import {name}" for name in ("Optional", "Tuple", "List", "Dict", "Union", "Any", "Callable")
    },
}
"""The line that usually defines a name which students forget to define."""

_SYNTAX = (
    (r"was never closed", "Add the closing bracket."),
    (r"unmatched|does not match opening", "Count the brackets: one too many, or one of the wrong kind."),
    (r"unterminated|EOL while scanning|EOF while scanning", "A text in quotes is not closed. Add the closing quote."),
    (r"expected ':'", "Add the missing colon at the end of that line."),
    (r"unindent does not match", "Give this line the same number of spaces as the other lines of its block."),
    (r"unexpected indent", "Remove the extra spaces at the start of this line."),
    (
        r"expected an indented block",
        "The lines that belong inside must start with four more spaces; an empty body needs `pass`.",
    ),
    (r"Missing parentheses in call", "In Python 3, print needs brackets: print(...)."),
    (r"Maybe you meant '==|cannot assign to", "To compare, write ==. A single = gives a name a value."),
    (r"forgot a comma", "Check whether a comma is missing."),
    (r"invalid non-printable character", "Delete the invisible character, often pasted from a web page."),
    (
        r"invalid character",
        "Replace the character by the plain one on the keyboard; it was perhaps pasted from a document.",
    ),
    (r"outside function", "Move this line inside a function, or delete it."),
    (r"'break'|'continue'", "Move this line inside a loop, or delete it."),
    (r"duplicate argument", "Give each parameter of the function its own name."),
    (r"f-string", 'Check the brackets and quotes inside the f"..." text.'),
    (r"follows keyword argument|follows default argument", "Put the arguments without `=` first."),
    (r"unexpected EOF|was expected", "Something that was opened before the end of the file is not finished."),
)


def syntax(unit: Unit, error: SyntaxError) -> Problem:
    """A unit, or a statement of it, that Python can't read."""
    spot = place(unit, error.lineno or 1)
    said = str(error.msg)
    if isinstance(error, TabError):
        return Problem(
            kind="tabs",
            message=f"Python can't read {where(spot)}: its indentation mixes tabs and spaces. "
            "Use four spaces for each level in the whole file and no tabs; an editor can convert them.",
            place=spot,
            detail=said,
        )
    mend = next((words for pattern, words in _SYNTAX if re.search(pattern, said)), "")
    if not mend:
        mend = "Look at this line and at the one before it."
    return Problem(
        kind="syntax",
        message=f'Python can\'t read {where(spot)}. It says: "{said}". {mend} '
        + ("Until then nothing in this file can run." if unit.cell is None else "Until then this cell can't run."),
        place=spot,
        detail=f"{type(error).__name__}: {said}",
    )


def unparsable(unit: Unit, error: BaseException) -> Problem:
    """A unit that makes Python's own reader give up: nested too deeply, too large, or odd characters."""
    failure = describe(error)
    return Problem(
        kind="syntax",
        message=f"Python can't read {unit.file if unit.cell is None else f'cell {unit.cell}'}: it is nested too "
        "deeply or holds characters that can't be part of a program. Write it in smaller, simpler pieces.",
        place=place(unit, 1),
        detail=f"{failure.type}: {failure.message}",
    )


def exception(error: BaseException, spot: Place) -> Problem:
    """A statement outside any function that stopped, though the function needs it. `spot`: the statement."""
    failure = describe(error)
    spot = failure.place or spot
    detail = f"{failure.type}: {failure.message}"
    if failure.kind == "memory":
        message = f"The code at {where(spot)} needs more memory than the grader allows. Make what it builds smaller."
        return Problem(kind="memory", message=message, place=spot, detail=failure.trace)
    if isinstance(error, ModuleNotFoundError):
        name = missing_package(error)
        message = (
            f"The code at {where(spot)} imports `{name}`, which is not installed where the work is graded. "
            "Write this part with torch alone. If it is a file of your own, hand it in as well."
        )
        return Problem(kind="missing_package", message=message, place=spot, detail=detail)
    message = f"The code at {where(spot)} stopped with {failure.type}: {failure.message[:300]}. {_mend(error)}"
    return Problem(kind="exception", message=message.strip(), place=spot, detail=failure.trace)


def ornament(error: BaseException, spot: Place) -> str:
    """A note: only an annotation or a decorator needed the name, so the function works without it."""
    if isinstance(error, ImportError):
        package = missing_package(error)
        return (
            f"The definition at {where(spot)} uses `{package}` in an annotation or a decorator. It is not installed "
            "where the work is graded, so that was ignored."
        )
    name = _name(error)
    return (
        f"The definition at {where(spot)} names `{name}` in an annotation or a decorator, but it is not there. "
        f"That was ignored. {missing_name(name)}"
    )


def missing_package(error: ImportError) -> str:
    """The top-level package that an import did not find."""
    try:
        return str(error.name or "?").partition(".")[0]
    except Exception:
        return "?"


def missing_name(name: str) -> str:
    """How to mend a name that nothing defines, as a sentence."""
    if name in IMPORTS:
        return f"Add the line `{IMPORTS[name]}` at the top."
    return f"Nothing before this line defines `{name}`: define it, import it, or correct its spelling."


def _name(error: BaseException) -> str:
    found = re.search(r"name '(\w+)'", text_of(error))
    return found[1] if found else "?"


def _mend(error: BaseException) -> str:
    if isinstance(error, NameError):
        return missing_name(_name(error))
    if isinstance(error, EOFError):
        return "Write the value into the code instead of asking for it."
    if isinstance(error, ImportError):
        return "Check the spelling of what is imported and where it comes from."
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return "Remove the call that ends the program, such as exit() or quit()."
    if isinstance(error, FileNotFoundError):
        return "Only the files that were handed in are there when the work is graded."
    return "The function needs this line; it must run without error when the file is run from the start."
