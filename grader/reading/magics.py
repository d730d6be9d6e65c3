"""IPython's own syntax, taken out by text so that plain Python is left, line for line.

    %%time, %%capture ...      the body is code and stays        %matplotlib inline, !ls     pass
    %%writefile m.py           the body becomes a file           files = !ls                 files = []
    %%bash, %%html ...         left out, with a note             %time model = f()           model = f()

Text inside triple-quoted strings, brackets and continued lines is never taken for a magic. Every pattern takes
time in proportion to the text, whatever the text is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_CODE_CELLS = frozenset(
    {"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "debug", "pdb", "snakeviz", "heat", "wandb"}
)
_CODE_LINES = frozenset({"time", "prun", "memit", "lprun", "mprun"})
_INSTALLERS = frozenset({"pip", "pip3", "conda", "mamba", "uv"})
_BARE = frozenset(
    {"apt", "apt-get", "autoreload", "cat", "cd", "cp", "curl", "env", "git", "load_ext", "ls", "matplotlib", "mkdir"}
    | {"mv", "reload_ext", "rm", "rmdir", "unzip", "wget", "who", "whos"}
)
"""What IPython takes for a magic or a command without a mark, or what students type as if it did."""
_OPERATORS = frozenset({"and", "else", "for", "if", "in", "is", "not", "or"})
_SPACE = r"[^\S\n]"
"""Of every kind: what is copied from a page brings spaces that don't break."""
_MAYBE = re.compile(rf"^{_SPACE}*(?:[!%?]|>>>|In \[)|={_SPACE}*[!%]|^(?!{_SPACE}*#).*\?(?:{_SPACE}|;)*$", re.MULTILINE)
_MAYBE_BARE = re.compile(rf"^{_SPACE}*(?:{'|'.join(sorted(_INSTALLERS | _BARE))}){_SPACE}+[\w/.~\"-]", re.MULTILINE)
_CELL = re.compile(r"%%[ \t]*(\w+)(.*)")
_MAGIC = re.compile(r"%{1,2}[ \t]*([\w.]+)(.*)")
_HELP = re.compile(r"\?{1,2}[\w.%*]+|%{0,2}[\w.*]+(?:\[[^\]]*\]|\([^)]*\))*\?{1,2}")
_TARGET = re.compile(r"[\w.,\[\] \t]+")
_RUN = re.compile(r"(?:\./)?([A-Za-z_][\w/]*)\.py")
_TOKEN = re.compile(r"#.*|'''|\"\"\"|'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|[(\[{]|[)\]}]|\\$")
_PROMPT = re.compile(r">>> ?|\.\.\. ?|In \[\d*\]: ?|[ ]*\.{3,}: ?")


@dataclass
class Plain:
    """`source`: Python with the line count of what it was made from."""

    source: str
    writes: str = ""
    """Path that `%%writefile` names, cleaned; "" when there is none."""
    body: bytes = b""
    """What goes into that file."""
    appends: bool = False
    """`%%writefile -a`: it goes to the end of what is there."""
    left_out: list[str] = field(default_factory=list)
    """What was left out: "%%bash", "!pip install ..."."""


def plain_cell(source: str) -> Plain:
    """A code cell of a notebook without IPython's own syntax."""
    result = Plain(_dedent(source))
    lines = result.source.split("\n")
    for number, line in enumerate(lines):
        found = _CELL.match(line.strip())
        if found is None and line.strip() and not line.lstrip().startswith("#"):
            break
        if found is None:
            continue
        name, rest = found[1], found[2].strip()
        lines[number] = ""
        if name not in _CODE_CELLS:
            if name in ("writefile", "file"):
                _write(result, rest, "\n".join(lines[number + 1 :]) + "\n")
            result.left_out.append(f"%%{name}" + (f" {result.writes} (kept as a file)" if result.writes else ""))
            result.source = "\n" * (len(lines) - 1)
            return result
    result.source = "\n".join(lines)
    return _plain_lines(result)


def plain_file(source: str) -> Plain:
    """A .py file without IPython's own syntax, as notebooks saved as .py have it. Plain Python is unchanged."""
    return _plain_lines(Plain(source))


def _plain_lines(result: Plain) -> Plain:
    if not _MAYBE.search(result.source) and not _MAYBE_BARE.search(result.source):
        return result
    lines = _without_prompts(result.source.split("\n"))
    state = _State()
    number = 0
    while number < len(lines):
        line = lines[number]
        plain = None if state.inside else _replacement(line.strip())
        if plain is None:
            state.read(line)
            number += 1
            continue
        if plain == "pass" or plain.endswith(" = []"):
            result.left_out.append(_short(line))
        lines[number] = line[: len(line) - len(line.lstrip())] + plain
        # A shell line goes on for as long as lines end in a backslash.
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line, lines[number] = lines[number], ""
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


def _replacement(code: str) -> str | None:
    """The Python that takes the place of a statement in IPython's syntax; None when it is Python already."""
    if code.startswith("!"):
        return "pass"
    magic = _MAGIC.match(code)
    if magic:
        name, rest = magic[1], magic[2].strip()
        if name in _CODE_LINES and rest and not rest.startswith("-"):
            return rest
        script = _RUN.fullmatch(rest) if name == "run" else None
        return f"from {script[1].replace('/', '.')} import *" if script else "pass"
    target, equals, value = code.partition("=")
    if equals and value.lstrip().startswith(("!", "%")) and _TARGET.fullmatch(target):
        return f"{target.strip()} = []"
    if code.rstrip("; \t").endswith("?") or code.startswith("?"):
        return "pass" if _HELP.fullmatch(code.rstrip("; \t")) else None
    words = code.split(maxsplit=2)
    if len(words) < 2 or words[1] in _OPERATORS:
        return None
    if words[0] in _INSTALLERS:
        return "pass" if words[1].isalpha() else None
    return "pass" if words[0] in _BARE and re.match(r"[\w/.~\"]|-\w", words[1]) and not equals else None


def _short(line: str) -> str:
    text = line.strip()
    return text if len(text) <= 40 else text[:37] + "..."


def _without_prompts(lines: list[str]) -> list[str]:
    first = next((line for line in lines if line.strip()), "")
    if not re.match(r">>> |In \[\d*\]: ", first):
        return lines
    return [line[found.end() :] if (found := _PROMPT.match(line)) else line for line in lines]


def _dedent(source: str) -> str:
    """Without the indentation that the first line of code has, as IPython does it."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    if not indent:
        return source
    return "\n".join(line.removeprefix(indent) for line in source.split("\n"))


def _write(result: Plain, rest: str, body: str) -> None:
    """%%writefile [-a] PATH: kept under the part of PATH that can lie inside a submission."""
    words = rest.split()
    path = words[-1].strip("\"'").replace("\\", "/") if words else ""
    parts = [part for part in path.split("/") if part not in ("", ".", "..", "~", "content", "drive", "MyDrive")]
    if not parts or len(parts) > 8 or not all(part.isprintable() and len(part) <= 60 for part in parts):
        return
    result.writes = "/".join(parts)
    result.body = body.encode("utf-8", "replace")
    result.appends = words[0] in ("-a", "--append")
