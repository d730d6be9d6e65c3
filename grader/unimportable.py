"""Why a module that staff wrote can't be imported: file, line, what is wrong, and the line itself."""

from __future__ import annotations

import linecache
import traceback
from pathlib import Path


def why(error: BaseException, path: Path) -> str:
    """Words for what importing `path` raised. Where another file beside it is at fault, that one is named."""
    if isinstance(error, SyntaxError) and error.filename:
        file, line, what = error.filename, error.lineno or 0, error.msg
    else:
        file, line = _deepest(error, path.parent) or (str(path), 0)
        what = _said(error)
    name = type(error).__name__
    place = f"{Path(file).name}, line {line}" if line else Path(file).name
    source = linecache.getline(file, line).strip() if line else ""
    return f"{place}: {name}: {what}" + (f"\n    {source}" if source else "")


def _said(error: BaseException) -> str:
    """The error's own words, as far as it has any."""
    try:
        return str(error)
    except Exception:
        return "(its words can't be read)"


def _deepest(error: BaseException, folder: Path) -> tuple[str, int] | None:
    """The last place inside of `folder` on the way to the error."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    return (ours[-1].filename, ours[-1].lineno or 0) if ours else None
