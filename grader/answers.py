"""What a call gave, as the values that the assignment promises or as authored words for why there are none."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader import expect
from grader.call import Failure, Foreign
from grader.results import Place


def unpack(output: Any, returns: list[str]) -> Any:
    """`output` as the promised tensors. Raises NoAnswer saying what came instead."""
    if fits(output, returns):
        return output if len(returns) == 1 else tuple(output)
    promised = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    raise expect.NoAnswer(
        f"Your function should return {promised}, but it returned {form(output)}.",
        hint=f"End your function with: return {', '.join(returns)}",
        reason=f"returns {type(output).__name__}",
    )


def fits(output: Any, returns: list[str]) -> bool:
    """Whether `output` has the promised form.

    A lone tensor is looked for first: with two batch items it would unpack into two values without a word.
    """
    if len(returns) == 1 or isinstance(output, Tensor):
        return len(returns) == 1 and isinstance(output, Tensor)
    return isinstance(output, (tuple, list)) and len(output) == len(returns) and _all_tensors(output)


def _all_tensors(values: Sequence[Any]) -> bool:
    return all(isinstance(value, Tensor) for value in values)


def form(output: Any) -> str:
    """What kind of value this is, in words."""
    if isinstance(output, Tensor):
        return f"a single tensor of shape {tuple(output.shape)}"
    if output is None:
        return "None (is a return missing?)"
    if isinstance(output, Foreign):
        return f"a value of type {type_name(output.type)}"
    if isinstance(output, (tuple, list)):
        return f"a {type(output).__name__} of {len(output)} values: {', '.join(form(item) for item in output[:4])}"
    if isinstance(output, dict):
        return f"a dict with {len(output)} entries"
    return f"a {type(output).__name__}"


def type_name(name: str) -> str:
    """A type's name when it looks like one; student text never reaches a message."""
    return name if name.replace(".", "").replace("_", "").replace(" ", "").isalnum() and len(name) < 60 else "its own"


WORDS: dict[str, Callable[[Failure], str]] = {
    "timeout": lambda failure: (
        "No time was left for this call: the calls before took all that a submission has. Look for a loop that never "
        "ends, or make each call quicker."
        if failure.type == "total"
        else "Your function did not finish in time and was stopped. Look for a loop that never ends."
    ),
    "memory": lambda failure: (
        "What your function returned took more memory, all calls together, than there is for one submission. Return "
        "only what is asked for, and tensors of the sizes that are asked for."
        if failure.type == "answers"
        else "Your function asked for more memory than there is. Look for tensors that grow too large."
    ),
    "output": lambda failure: "Your function printed far too much and was stopped. Remove the print calls in it.",
    "crash": lambda failure: f"Python itself crashed in your function ({failure.type}).",
    "closed": lambda failure: "Your function ended the whole program. Remove calls such as exit() or os._exit().",
    "malformed": lambda failure: "What your function returned could not be read as plain tensors.",
}


def explain(failure: Failure, forbidden: Sequence[str] = ()) -> str:
    """The failure in authored words: no text of the student's, only where it happened.

    `forbidden` names what the assignment refuses of the library.
    """
    if failure.kind != "exception":
        return WORDS[failure.kind](failure)
    if failure.type == "Forbidden":
        for name in forbidden:
            if f" {name} of the PyTorch library" in failure.message:
                return (
                    f"Your function uses {name} of the PyTorch library{where(failure.place)}. That is not allowed "
                    "here, because it does the whole task and the exercise is to write it yourself. Remove this use "
                    "and build the result from simpler operations."
                )
    known = isinstance(getattr(builtins, failure.type, None), type)
    name = failure.type if known else "an error of its own kind"
    article = "an" if known and name[0] in "AEIOU" else "a" if known else ""
    return f"Your function stopped with {article} {name}{where(failure.place)}.".replace("  ", " ")


def reason(failure: Failure) -> str:
    """What the call shares with others that ended alike: a limit (a time-out also starves the calls after it), or an
    error of the call itself, such as an argument too many. "" where a line of the student's tells.
    """
    if failure.place is not None:
        return ""
    return f"exception {failure.type}" if failure.kind == "exception" else failure.kind


def where(place: Place | None) -> str:
    """ " in cell 3, line 2" or " at line 12 of attention.py", or nothing."""
    if place is None:
        return ""
    if place.cell is not None:
        return f" in cell {place.cell}, line {place.line}"
    return f" at line {place.line} of {place.file}"
