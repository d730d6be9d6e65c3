"""A delimited text file (CSV, TSV) whose every byte is kept: encoding, byte order mark, delimiter, quotes, line ends.

Spreadsheets and learning systems write many dialects. Reading one with a CSV library and writing it again changes all
of it; here a cell that is not set stays the very characters that it was.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from grader.errors import UsageError

DELIMITERS = ",;\t"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SEPARATOR_LINE = re.compile(r"sep=(.)(?:\r\n|\r|\n)", re.IGNORECASE)
_FORMULA = ("=", "+", "-", "@")
_QUOTED = re.compile(r'"(?P<inside>(?:[^"]|"")*)"')
_WORKBOOK = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_PLAIN_NUMBER = re.compile(r"-?\d+([.,]\d+)?")


@dataclass
class Row:
    """One line of the table: its cells as they are written, and what ended it."""

    cells: list[str]
    end: str
    number: int
    """Of its first line in the file; the first is 1."""

    def value(self, column: int | None) -> str:
        """What the cell means: without its quotes. "" where the row has no such cell."""
        if column is None or column >= len(self.cells):
            return ""
        return _value(self.cells[column])

    @property
    def values(self) -> list[str]:
        return [_value(cell) for cell in self.cells]


@dataclass
class Sheet:
    """The whole file. `bytes()` of one that was only read is the file."""

    name: str
    rows: list[Row]
    delimiter: str
    encoding: str
    mark: bytes = b""
    before: str = ""
    """Excel's line that names the separator, when there is one."""
    changed: int = 0
    """How many cells were given another content."""

    def set(self, row: Row, column: int, value: str) -> bool:
        """Write a cell, in the manner in which it was written; whether that changed anything."""
        while len(row.cells) <= column:
            row.cells.append("")
        old = row.cells[column]
        if _value(old) == value:
            return False
        special = any(sign in value for sign in (self.delimiter, '"', "\n", "\r")) or value != value.strip()
        vanishing = not value and len(row.cells) == 1  # a line without a sign could run into the line ends around it
        quoted = old.startswith('"') or special or vanishing or (not old and _all_quoted(row, column))
        row.cells[column] = '"' + value.replace('"', '""') + '"' if quoted else value
        self.changed += 1
        return True

    def bytes(self) -> bytes:
        """The file. A character that its encoding lacks becomes a reference as in HTML (`&#8730;`)."""
        text = self.before + "".join(self.delimiter.join(row.cells) + row.end for row in self.rows)
        return self.mark + text.encode(self.encoding, "xmlcharrefreplace")


def read(name: str, data: bytes, encoding: str = "") -> Sheet:
    """Take the file apart. `name` is what messages call it; `encoding`: "" finds it out.

    Raises UsageError: it is no text, can't be decoded, or a quotation is never closed (names the line).
    """
    if data.startswith(_WORKBOOK):
        raise UsageError(f"{name} is a workbook of a spreadsheet program. Save it as CSV and give that file.")
    mark, found = _encoding(data)
    if mark or not encoding:
        encoding = found
    try:
        text = data[len(mark) :].decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise UsageError(f"{name} can't be read as {encoding}: {error}. Save it as UTF-8, or use --encoding.") from None
    before = ""
    if separator := _SEPARATOR_LINE.match(text):
        before, text, delimiter = separator.group(), text[separator.end() :], separator.group(1)
    else:
        delimiter = _delimiter(text)
    sheet = Sheet(name, list(_rows(name, text, delimiter, 2 if before else 1)), delimiter, encoding, mark, before)
    if sheet.bytes() != data:
        raise UsageError(f"{name} can't be changed without harm as {encoding}. Save it as UTF-8 and try again.")
    return sheet


def harmless(text: str) -> str:
    """The text, with an apostrophe before what a spreadsheet would run as a formula. Plain numbers stay."""
    start = text.lstrip(" \t\r\n")
    if start.startswith(_FORMULA) and not _PLAIN_NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def _encoding(data: bytes) -> tuple[bytes, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    if len(data) > 1 and data[1] == 0:
        return b"", "utf-16-le"
    if data[:1] == b"\0":
        return b"", "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            data.decode("cp1252")
        except UnicodeDecodeError:
            return b"", "latin-1"
        return b"", "cp1252"
    return b"", "utf-8"


def _delimiter(text: str) -> str:
    """The one that stands most often in the first line that holds anything, quotations left out."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    outside = re.sub(r'"[^"]*"', "", first)
    return max(DELIMITERS, key=outside.count)


def _rows(name: str, text: str, delimiter: str, number: int) -> list[Row]:
    sign = re.escape(delimiter)
    # A quoted part may be followed by stray characters; both belong to the cell.
    cell = re.compile(rf'(?:"(?:[^"]|"")*")?[^{sign}\r\n]*')
    rows: list[Row] = []
    at = 0
    while at < len(text):
        cells: list[str] = []
        line = number
        while True:
            found = cell.match(text, at)
            assert found is not None  # every part of the pattern may be empty
            raw = found.group()
            quoted = _QUOTED.match(raw)
            if raw.startswith('"') and (quoted is None or raw[quoted.end() :].startswith('"')):
                raise UsageError(f"{name}, line {line}: a quotation mark is opened and never closed. Mend it.")
            cells.append(raw)
            number += len(re.findall("\r\n|\r|\n", raw))
            at = found.end()
            if at >= len(text) or text[at] != delimiter:
                break
            at += 1
        end = "\r\n" if text.startswith("\r\n", at) else text[at : at + 1]
        rows.append(Row(cells, end, line))
        at += len(end)
        number += 1
    return rows


def _value(raw: str) -> str:
    quoted = _QUOTED.match(raw)
    return raw if quoted is None else quoted["inside"].replace('""', '"') + raw[quoted.end() :]


def _all_quoted(row: Row, column: int) -> bool:
    others = [cell for place, cell in enumerate(row.cells) if place != column and cell]
    return bool(others) and all(cell.startswith('"') for cell in others)
