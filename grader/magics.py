"""IPython's own syntax, taken out by text so that plain Python is left, line for line.

    %%time, %%capture ...      the body is code and stays        %matplotlib inline, !ls     pass
    %%writefile m.py           the body becomes a file           files = !ls                 files = []
    %%bash, %%html ...         left out, with a note             %time model = f()           model = f()

Text inside triple-quoted strings, brackets and continued lines is never taken for a magic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

_CODE_CELLS = frozenset(
    {"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "debug", "pdb", "snakeviz", "heat", "wandb"}
)
_CODE_LINES = frozenset({"time", "prun", "memit", "lprun", "mprun"})
_CELL = re.compile(r"%%\s*(\w+)[ \t]*(.*)")
_LINE = re.compile(r"([ \t]*)%{1,2}\s*([\w.]+)[ \t]*(.*)")
_SHELL = re.compile(r"([ \t]*)!(.*)")
_ASSIGNED = re.compile(r"([ \t]*)([\w.,\[\] \t]+?)[ \t]*=[ \t]*(!|%)(.*)")
_HELP = re.compile(r"[ \t]*(\?{1,2}[\w.%*]+|%{0,2}[\w.*]+(\[[^\]]*\]|\([^)]*\))*\?{1,2})[ \t]*;?[ \t]*")
_AUTO = re.compile(
    r"([ \t]*)(?:(?:pip3?|conda|mamba|uv)\s+(?:install|uninstall|list|show|freeze|update|upgrade|pip)\b"
    r"|(?:cd|ls|cat|cp|mv|mkdir|rm|rmdir|wget|curl|unzip|git|apt|apt-get|load_ext|reload_ext|autoreload"
    r"|matplotlib|env|who|whos)\s+(?!(?:in|is|and|or|not|if|for|else)\b)[\w/.~\"-][\w/.~\"-]*\s*(?!\s*[=.(\[])).*"
)
_MAYBE = re.compile(r"^[ \t]*[!%?]|\?[ \t;]*$|=[ \t]*[!%]|^[ \t]*(?:>>>|In \[)", re.MULTILINE)
_MAYBE_AUTO = re.compile(
    r"^[ \t]*(?:pip3?|conda|mamba|uv|cd|ls|cat|cp|mv|mkdir|rm|rmdir|wget|curl|unzip|git|apt|apt-get|load_ext"
    r"|reload_ext|autoreload|matplotlib|env|whos?)[ \t]+\S",
    re.MULTILINE,
)
_TOKEN = re.compile(r"#.*|'''|\"\"\"|'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|[(\[{]|[)\]}]|\\$")
_PROMPT = re.compile(r"^(?:>>> ?|\.\.\. ?|In \[\d*\]: ?|\s*\.{3,}: ?)")


@dataclass
class Plain:
    """`source`: Python with the line count of what it was made from; `files`: written by %%writefile."""

    source: str
    files: dict[str, bytes] = field(default_factory=dict)
    appends: bool = False
    """`%%writefile -a`: `files` go to the end of what is there."""
    left_out: list[str] = field(default_factory=list)
    """What was left out: "%%bash", "!pip install ..."."""


def plain_cell(source: str) -> Plain:
    """A code cell of a notebook without IPython's own syntax."""
    result = Plain(_dedent(source))
    lines = result.source.split("\n")
    first = 0
    while first < len(lines):
        line = lines[first].strip()
        found = _CELL.match(line)
        if found is None and line and not line.startswith("#"):
            break
        if found is not None:
            name, rest = found[1], found[2].strip()
            lines[first] = ""
            if name in ("writefile", "file"):
                body = "\n".join(lines[first + 1 :])
                _write(result, rest, body + "\n")
                result.source = "\n" * (len(lines) - 1)
                return result
            if name not in _CODE_CELLS:
                result.left_out.append(f"%%{name}")
                result.source = "\n" * (len(lines) - 1)
                return result
        first += 1
    result.source = "\n".join(lines)
    return _plain_lines(result)


def plain_file(source: str) -> Plain:
    """A .py file without IPython's own syntax, as notebooks saved as .py have it. Plain Python is unchanged."""
    return _plain_lines(Plain(source))


def _plain_lines(result: Plain) -> Plain:
    if not _MAYBE.search(result.source) and not _MAYBE_AUTO.search(result.source):
        return result
    lines = _without_prompts(result.source.split("\n"))
    state = _State()
    number = 0
    while number < len(lines):
        if state.inside:
            state.read(lines[number])
            number += 1
            continue
        plain = _replace(lines[number], result.left_out)
        if plain is None:
            state.read(lines[number])
            number += 1
            continue
        # A shell line goes on for as long as lines end in a backslash.
        while lines[number].rstrip().endswith("\\") and number + 1 < len(lines):
            lines[number] = plain
            plain = ""
            number += 1
        lines[number] = plain
        number += 1
    result.source = "\n".join(lines)
    return result


class _State:
    """Whether the next line starts a statement, or stands inside a string, brackets or a continued line."""

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0
        self._continued = False

    @property
    def inside(self) -> bool:
        return bool(self._quote) or self._depth > 0 or self._continued

    def read(self, line: str) -> None:
        self._continued = False
        at = 0
        while at < len(line):
            if self._quote:
                end = _unescaped(line, self._quote, at)
                if end < 0:
                    return
                at, self._quote = end + 3, ""
                continue
            found = _TOKEN.search(line, at)
            if found is None:
                return
            token, at = found[0], found.end()
            if token in ("'''", '"""'):
                self._quote = token
            elif token in "([{":
                self._depth += 1
            elif token in ")]}":
                self._depth = max(0, self._depth - 1)
            elif token == "\\":
                self._continued = True


def _unescaped(line: str, quote: str, at: int) -> int:
    """Where `quote` stands in `line` without a backslash before it, or -1."""
    while True:
        end = line.find(quote, at)
        if end < 0:
            return -1
        before = line[at:end]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return end
        at = end + 1


def _replace(line: str, left_out: list[str]) -> str | None:
    """The Python that takes the place of a line in IPython's syntax; None when it is Python already."""
    found = _SHELL.match(line)
    if found:
        left_out.append(_short(line))
        return f"{found[1]}pass"
    found = _LINE.match(line)
    if found:
        indent, name, rest = found.groups()
        if name in _CODE_LINES and rest and not rest.startswith("-"):
            return f"{indent}{rest}"
        if name == "run" and re.fullmatch(r"[\w/.]+\.py", rest.strip()):
            module = ".".join(part for part in PurePosixPath(rest.strip()).with_suffix("").parts if part != ".")
            return f"{indent}from {module} import *" if re.fullmatch(r"[\w.]+", module) else f"{indent}pass"
        left_out.append(_short(line))
        return f"{indent}pass"
    found = _ASSIGNED.match(line)
    if found:
        left_out.append(_short(line))
        return f"{found[1]}{found[2]} = []"
    if _HELP.fullmatch(line) or _AUTO.fullmatch(line):
        left_out.append(_short(line))
        return f"{line[: len(line) - len(line.lstrip())]}pass"
    return None


def _short(line: str) -> str:
    text = line.strip()
    return text if len(text) <= 40 else text[:37] + "..."


def _without_prompts(lines: list[str]) -> list[str]:
    first = next((line for line in lines if line.strip()), "")
    if not re.match(r">>> |In \[\d*\]: ", first):
        return lines
    return [_PROMPT.sub("", line) for line in lines]


def _dedent(source: str) -> str:
    """Without the indentation that the first line of code has, as IPython does it."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    if not indent:
        return source
    return "\n".join(line[len(indent) :] if line.startswith(indent) else line for line in source.split("\n"))


def _write(result: Plain, rest: str, body: str) -> None:
    """%%writefile [-a] PATH: kept under the part of PATH that lies inside the submission."""
    result.appends = bool(re.match(r"(-a|--append)\s", rest))
    path = rest.split()[-1].strip("\"'") if rest else ""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..", "~", "content")]
    if not parts:
        result.left_out.append("%%writefile")
        return
    name = "/".join(parts)
    result.files[name] = body.encode("utf-8", "replace")
    result.left_out.append(f"%%writefile {name} (kept as a file)")
