"""Whatever a student writes stays text in Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from grader.pages.markdown import fence, prose, span

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
PLAIN = {"paragraph_open", "inline", "paragraph_close"}
TEXT = {"text"}
# Control characters have gone before: `clean` is the first to see a student's text.
NASTY = st.text(
    st.sampled_from("ab1 \n\t`*_[]()<>!#+-.=|~&;:\\/@\"'$") | st.characters(min_codepoint=0xA0, max_codepoint=0x2FF)
)


def kinds(text: str) -> set[str]:
    """The kinds of all tokens that a Markdown reader sees."""
    tokens = PARSER.parse(text)
    return {token.type for token in tokens} | {child.type for token in tokens for child in token.children or []}


@given(NASTY)
def test_prose_is_text_and_code_and_nothing_else(text: str) -> None:
    """No link, picture, HTML, heading, list, table, or rule: `code` and *emphasis* are all there is."""
    assert kinds(prose(text)) <= PLAIN | TEXT | {"code_inline", "em_open", "em_close"}


@given(NASTY)
def test_a_span_shows_its_text_whatever_backticks_it_holds(text: str) -> None:
    """File names come out as they are."""
    made = PARSER.parseInline("x " + span(text))[0].children or []
    assert " ".join(" ".join(child.content for child in made).split()) == " ".join(["x", *text.split()])
    assert {child.type for child in made} <= {"text", "code_inline"}


@given(NASTY)
def test_a_fence_can_not_be_closed_from_inside(text: str) -> None:
    """Student code with fences of its own stays one block."""
    tokens = PARSER.parse(fence(text) + "\n")
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content.rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize("text", ["http://a.example", "https://a.example/?q=1", "www.a.example", "me@a.example"])
def test_addresses_do_not_become_links_by_themselves(text: str) -> None:
    """Readers that link bare addresses (GitHub) find none: a beacon needs a click at least."""
    assert text not in prose(f"see {text} there")


def test_ordinary_words_stay_readable() -> None:
    """Escapes are for what needs them."""
    plain = "Q of 2 × 3, d_k is 8; at most 2.4e-6 is allowed (3 of 3 cases)."
    assert prose(plain) == plain
    assert prose("Use `x * y_` here") == "Use `x * y_` here"
    assert prose("each *query* of 2 * 3 * 4 and x**2") == "each *query* of 2 \\* 3 \\* 4 and x\\*\\*2"
