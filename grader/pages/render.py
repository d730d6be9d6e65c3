"""A stored report as a page (HTML) and as Markdown. Pure: the same report gives the same bytes."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateSyntaxError
from jinja2 import TemplateError as JinjaError
from markupsafe import Markup, escape

from grader.errors import AssignmentError
from grader.pages import markdown
from grader.pages.heatmap import Shade, grid
from grader.pages.summary import Audience, Phase
from grader.pages.view import ReportView, view
from grader.pages.words import load_words, with_built_in
from grader.results import Report

_CODE = Markup("<code>{}</code>")
_EMPHASIS = Markup("<em>{}</em>")
_EMPTY = Markup("")
_GAP = re.compile(r"\n{3,}")
_PARAGRAPH = re.compile(r"\n\s*\n")


class Renderer:
    """Turns reports into pages through the templates of a course. Make one, use it for the whole class."""

    def __init__(self, template_dirs: Sequence[Path] = (), *, language: str = "en") -> None:
        """Templates and words are looked for in each folder in turn, last in the grader's own.

        Raises AssignmentError: a template with a syntax error (file and line), no words for the language.
        """
        self.words = load_words(template_dirs, language)
        self.language = language
        self._last: tuple[Report, Audience, Phase, ReportView] | None = None
        folders = with_built_in(template_dirs)
        self.environment = environment(folders)
        self.environment.globals.update(w=self.words, language=language)
        style = Markup(read_source(self.environment, "page.css") + read_source(self.environment, "report.css"))
        self.environment.globals.update(style=style, csp=content_security_policy(style=style))
        try:
            self._html = self.environment.get_template("report.html.j2")
            self._markdown = self.environment.get_template("report.md.j2")
        except JinjaError as error:
            raise template_error(error) from None

    def html(self, report: Report, *, audience: Audience, phase: Phase = "published") -> str:
        """One page that needs nothing else: no script, no network. Raises AssignmentError for a template's mistake."""
        return self._render(self._html, report, audience, phase)

    def markdown(self, report: Report, *, audience: Audience, phase: Phase = "published") -> str:
        """The same content as Markdown."""
        # Every line of a block of code has a number or a frame before it, so only the template's own gaps shrink.
        return _GAP.sub("\n\n", self._render(self._markdown, report, audience, phase))

    def _render(self, template: Template, report: Report, audience: Audience, phase: Phase) -> str:
        try:
            page = template.render(report=self._view(report, audience, phase))
        except JinjaError as error:
            raise template_error(error) from None
        return page.strip() + "\n"

    def _view(self, report: Report, audience: Audience, phase: Phase) -> ReportView:
        # Both formats of a report are made one after the other: the second finds the work done.
        last = self._last
        if last is None or last[0] is not report or last[1:3] != (audience, phase):
            last = (report, audience, phase, view(report, self.words, audience=audience, phase=phase))
            self._last = last
        return last[3]


def environment(folders: Sequence[Path]) -> Environment:
    """Jinja with everything escaped in HTML, missing variables an error, and the filters that templates use."""
    made = Environment(
        loader=FileSystemLoader(folders),
        autoescape=lambda name: name is None or ".html." in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        prose=_prose,
        line=_line,
        cells=_cells,
        md=markdown.prose,
        span=markdown.span,
        fence=markdown.fence,
        framed=markdown.framed,
        grid=grid,
    )
    return made


def read_source(engine: Environment, name: str) -> str:
    """The text of a file among the templates. Raises jinja2.TemplateNotFound."""
    assert engine.loader is not None
    return engine.loader.get_source(engine, name)[0]


def content_security_policy(*, style: str, script: str = "") -> str:
    """Allows these two inline texts and nothing else: no other script or style, no network, no forms."""
    rules = ["default-src 'none'", f"style-src {_digest(style)}", "img-src data:"]
    if script:
        rules.append(f"script-src {_digest(script)}")
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def template_error(error: JinjaError) -> AssignmentError:
    """Names the template and, where Jinja knows it, the line."""
    where = f"{error.filename or error.name}, line {error.lineno}: " if isinstance(error, TemplateSyntaxError) else ""
    return AssignmentError(f"A template can't be used: {where}{error}. docs/feedback.md lists what templates see.")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@functools.lru_cache(maxsize=1024)  # an assignment's words stand in every student's report
def _line(text: str) -> Markup:
    """Escaped text in which `code` and *emphasis* mean what they say."""
    if "`" not in text and "*" not in text:
        return escape(text)
    pieces = markdown.CODE.split(text)
    return _EMPTY.join(_CODE.format(piece) if at % 2 else _words(piece) for at, piece in enumerate(pieces))


def _words(text: str) -> Markup:
    pieces = markdown.EMPHASIS.split(text)
    return _EMPTY.join(_EMPHASIS.format(piece) if at % 2 else escape(piece) for at, piece in enumerate(pieces))


def _prose(text: str) -> Markup:
    """Paragraphs (an empty line between them) of such text."""
    paragraphs = (part.strip() for part in _PARAGRAPH.split(text))
    return Markup("\n").join(Markup("<p>{}</p>").format(_line(part)) for part in paragraphs if part)


def _cells(shades: Iterable[Shade]) -> Markup:
    """Table cells. Classes and numbers are made by `heatmap`, so there is nothing in them to escape."""
    return Markup("".join([f'<td class="{classes}">{text}</td>' for classes, text in shades]))
