"""TOML files that staff write: parsed, and checked against a type, with a message that says what may stand there."""

from __future__ import annotations

import difflib
import json
import re
import sys
from datetime import date, time
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from grader.errors import AssignmentError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = TypeVar("Kind")
_STEP = re.compile(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]")
"""One step of the path to a value, as msgspec writes it: a key, a position, or "some key of this table"."""
_FIELD = re.compile(r"(unknown|missing required) field `(.*)`")
_LONGEST = 60
_TOO_MUCH = "{path}: it holds a number of thousands of digits, or lists nested too deeply."


def parsed(path: Path) -> dict[str, Any]:
    """The file's table. Raises AssignmentError naming the line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise AssignmentError(f"{path} is not UTF-8 text, which TOML has to be. Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise AssignmentError(f"{path} is not valid TOML: {error}.") from None
    except (ValueError, RecursionError):
        raise AssignmentError(_TOO_MUCH.format(path=path)) from None
    except OSError as error:
        raise AssignmentError(f"{path} can't be read: {error.strerror}. Look at its permissions.") from None


def read(path: Path) -> dict[str, Any]:
    """The table of settings, in which dates are text, quoted or not. Raises as `parsed`, and when it is nested too
    deeply."""
    try:
        return {key: _dates_as_text(one) for key, one in parsed(path).items()}
    except RecursionError:
        raise AssignmentError(_TOO_MUCH.format(path=path)) from None


def typed(path: Path, table: dict[str, Any], kind: type[Kind]) -> Kind:
    """The table of `path` as a `kind`. Raises AssignmentError naming the key and what was expected."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise AssignmentError(f"{path}: {_in_words(str(error), table, kind)}") from None


def _in_words(message: str, value: Any, kind: Any) -> str:
    """What is wrong in plain words: msgspec's message tells only where to look, and what a table has or lacks."""
    what, _, where = message.partition(" - at `$")
    key = ""
    for step in _STEP.finditer(where):
        name, value, kind = _inner(value, kind, step)
        key += name if name.startswith("[") or not key else f".{name}"
    place = f"{key}: " if key else ""
    field = _FIELD.search(what)
    if field is None:
        return f"{place}expected {_expected(inspect.type_info(kind))}; got {_written(value)}."
    if field[1] != "unknown":
        return f"{place}the setting {field[2]!r} is missing."
    known = [one.encode_name for one in msgspec.structs.fields(kind)]
    near = difflib.get_close_matches(field[2], known, 1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"{place}there is no setting {field[2]!r} here. {hint}There is: {', '.join(known)}."


def _inner(value: Any, kind: Any, step: re.Match[str]) -> tuple[str, Any, Any]:
    """How the step is written, the value one step further in, and its type."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return step[1], value[step[1]], get_type_hints(kind, include_extras=True)[step[1]]
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        name = next(name for name, one in value.items() if not _fits(one, inner))
        return name, value[name], inner
    while get_origin(kind) not in (list, tuple):  # annotated with a length, or a list or something else
        kind = next(one for one in get_args(kind) if get_origin(one) is not Literal)
    return step[0], value[int(step[2])], get_args(kind)[0]


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _expected(kind: inspect.Type) -> str:
    """What may stand there."""
    if isinstance(kind, inspect.UnionType):
        return " or ".join(map(_expected, kind.types))
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(map(_written, kind.values))
    if isinstance(kind, (inspect.ListType, inspect.VarTupleType)):
        return f"a list in [ ]{' with at least one' if kind.min_length else ', each'} {_expected(kind.item_type)}"
    if isinstance(kind, inspect.IntType):
        return f"a whole number{_range(kind)}"
    if isinstance(kind, inspect.FloatType):
        return f"a number{_range(kind)}"
    if isinstance(kind, inspect.BoolType):
        return "true or false, without quotation marks"
    if isinstance(kind, inspect.StrType):
        return "text in quotation marks"
    return "a table of settings, as under a line in [ ]"


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    low = (
        "" if kind.gt is None and kind.ge is None else f"above {kind.gt:g}" if kind.ge is None else f"from {kind.ge:g}"
    )
    if kind.le is None:
        return low and f" {low}{' on' if kind.ge is not None else ''}"
    return f" {low} {'to' if kind.ge is not None else 'and up to'} {kind.le:,}"


def _written(value: Any) -> str:
    """The value as TOML has it, or nearly."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _dates_as_text(value: Any) -> Any:
    """TOML writes dates with or without quotation marks; both mean the same here."""
    if isinstance(value, dict):
        return {key: _dates_as_text(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_dates_as_text(one) for one in value]
    return value.isoformat() if isinstance(value, (date, time)) else value
