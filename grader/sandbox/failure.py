"""From an exception of student code to data. Trusts nothing about the exception: its methods are theirs."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from grader.call import Failure
from grader.entry import Unit
from grader.results import Place

SOURCES = "__units__"
"""Key in the builtins of student modules under which file name -> Unit is kept for tracebacks."""

_MESSAGE = 2_000
_TRACE = 4_000
_FRAMES = 16
_LINE = 200
_ALLOCATION = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "std::bad_alloc",
    "cannot allocate memory",
    "unable to allocate",
)


def file_name(unit: Unit) -> str:
    """What Python is told the file is called: "attention.py", or "attention.ipynb, cell 3"."""
    return unit.file if unit.cell is None else f"{unit.file}, cell {unit.cell}"


def place(unit: Unit, line: int) -> Place:
    """Line `line` (1-based) of `unit`, with its text."""
    lines = unit.source.split("\n")
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return Place(file=clean(unit.file), cell=unit.cell, line=max(line, 1), text=clean(text)[:_LINE])


def where(spot: Place) -> str:
    """ "line 4 of attention.py" or "line 2 of cell 5"."""
    return f"line {spot.line} of " + (spot.file if spot.cell is None else f"cell {spot.cell}")


def describe(exception: BaseException) -> Failure:
    """How a load or a call ended, as data: kind, type, capped text, and the innermost line of *their* code.

    Frames of ours and of libraries are left out. Works when `__str__` raises, for `SystemExit` and
    `KeyboardInterrupt`, and for messages of any size.
    """
    frames = list(_student_frames(exception.__traceback__))
    type_name, message = name_of(exception), text_of(exception)
    lines = []
    half = _FRAMES // 2
    for number, (unit, line, function) in enumerate(frames):
        if number < half or number >= len(frames) - half:
            spot = place(unit, line)
            lines.append(f"{clean(file_name(unit))}, line {spot.line}, in {function}\n    {spot.text}")
        elif number == half:
            lines.append(f"... {len(frames) - 2 * half} more ...")
    trace = "\n".join([*lines, f"{type_name}: {message}"])
    return Failure(
        kind="memory" if _is_memory(exception, type_name, message) else "exception",
        type=type_name,
        message=message,
        place=place(*frames[-1][:2]) if frames else None,
        trace=trace if len(trace) <= _TRACE else trace[:_TRACE] + " ...",
    )


def name_of(exception: BaseException) -> str:
    """The class name of an exception, whatever its metaclass does."""
    try:
        return clean(str.__str__(type(exception).__name__))[:100]
    except BaseException:
        return "Exception"


def text_of(exception: BaseException) -> str:
    """The text of an exception, capped; a word about it when `__str__` fails."""
    try:
        text = str.__str__(str(exception))  # a plain copy: `__str__` may give a subclass with methods of its own
        return clean(text if len(text) <= _MESSAGE else text[:_MESSAGE] + " ...")
    except BaseException:
        return "(its text can't be shown: making it failed)"


def clean(text: str) -> str:
    """Text that can be encoded: a lone surrogate becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _student_frames(traceback: TracebackType | None) -> Iterator[tuple[Unit, int, str]]:
    """(unit, line, function name) of each frame of the student's code, outermost first."""
    while traceback is not None:
        frame = traceback.tb_frame
        sources = dict.get(frame.f_builtins, SOURCES)  # not their own `get`: both may be objects of theirs
        unit = dict.get(sources, frame.f_code.co_filename) if isinstance(sources, dict) else None
        if isinstance(unit, Unit):
            yield unit, traceback.tb_lineno or 1, clean(frame.f_code.co_name)[:100]
        traceback = traceback.tb_next


def _is_memory(exception: BaseException, type_name: str, message: str) -> bool:
    if isinstance(exception, MemoryError) or type_name == "OutOfMemoryError":
        return True
    lowered = message.lower()
    return isinstance(exception, RuntimeError) and any(words in lowered for words in _ALLOCATION)
