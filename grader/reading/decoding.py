"""Bytes of a .py file to text, as forgivingly as an editor and without ever failing on odd bytes."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_ENCODING = re.compile(
    r"(utf-?8(-sig)?|ascii|us-ascii|latin-?1|iso-?8859-?\d+|cp\d{3,4}|windows-?125\d|mac-?roman|koi8-?[ru]"
    r"|gbk|gb2312|gb18030|big5|shift-?jis|s-?jis|euc-?(jp|kr))"
)
"""Encodings that people's editors write. Others that a cookie may name run code of the codec's own."""

_SIGNATURES = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive or an office document"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"{\\rtf", "a rich-text document"),
    (b"bplist", "a web shortcut"),
    (b"\x7fELF", "a compiled program"),
    (b"MZ\x90", "a compiled program"),
)
_CONTROLS = bytes(code for code in range(32) if chr(code) not in "\t\n\r\f\x1b")
"""What text has no use for, in any encoding that extends ASCII."""
_HTML = re.compile(rb"\s*(<!doctype\s+html|<html|<head|<\?xml|<!--)", re.IGNORECASE)


@dataclass(frozen=True)
class Decoded:
    """`text` with "\\n" line ends and no NUL, no BOM; `note`: what was odd, "" when nothing was."""

    text: str
    note: str = ""


def disguise(data: bytes) -> str:
    """What `data` really is when it can't be source text, in words ("a PDF document"); "" when it may be."""
    for signature, words in _SIGNATURES:
        if data.startswith(signature):
            return words
    if _HTML.match(data[:512]):
        return "a web page"
    head = data[:4096]
    if _utf16(head) is None and len(head.translate(None, _CONTROLS)) < 0.95 * len(head):
        return "binary data"
    return ""


def decode(data: bytes) -> Decoded:
    """Text of a .py file: BOM, coding cookie (PEP 263), UTF-16, CRLF, NUL bytes. Never raises."""
    wide = _utf16(data[:4096])
    if wide is not None:
        return Decoded(
            _lines(data.decode(wide, "replace").lstrip("\ufeff")),
            "it is saved as UTF-16, which Python itself can't read. It was converted; save it as UTF-8",
        )
    notes = []
    if data.startswith(codecs.BOM_UTF8):
        data = data[3:]
    if b"\0" in data:
        data = data.replace(b"\0", b"")
        notes.append("it holds NUL characters, which Python can't read. They were removed; save the file again")
    encoding = _declared(data)
    if encoding is None:
        encoding = "utf-8"
        notes.append("its coding line names an encoding that is not known here; it was read as UTF-8")
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
            notes.append("it is not saved as UTF-8, so Python itself may refuse it; save it as UTF-8")
    return Decoded(_lines(text), "; ".join(notes))


def _declared(data: bytes) -> str | None:
    """The encoding that one of the first two lines declares; "utf-8" without one, None for an odd one."""
    for line in data.split(b"\n", 2)[:2]:
        found = _COOKIE.match(line)
        if found:
            name = found[1].decode("ascii").lower().replace("_", "-")
            return name if _ENCODING.fullmatch(name) else None
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return "utf-8"


def _utf16(head: bytes) -> str | None:
    """The UTF-16 flavour of text that begins with `head`, or None."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    half = len(head) // 2
    if half >= 8:
        odd, even = head[1::2].count(0), head[0::2].count(0)
        if odd > 0.7 * half and even < 0.05 * half:
            return "utf-16-le"
        if even > 0.7 * half and odd < 0.05 * half:
            return "utf-16-be"
    return None


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
