"""Student text can be shown anywhere without acting there."""

from __future__ import annotations

import pytest

from grader.text import CUT, clean, for_terminal


def test_plain_text_is_untouched() -> None:
    """What an honest student writes, in any script, comes through letter for letter."""
    for text in ("mask = None\n\treturn Q @ K.mT", "Søren Ångström 李雷", "می‌خواهم", "√d ≤ 3 → ok 🙂", ""):
        assert clean(text, 1000) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[31mPASSED\x1b[0m", "PASSED"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x9b2Jb", "ab"),
        ("\x1b]never finished\nnext line", "\nnext line"),
        ("a\x00b\x08c\x7fd", "abcd"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("user\u202exe.py\u2066\u2069\u200f", "userxe.py"),
        ("a\ufeffb\u00adc\U000e0041", "abc"),
        ("a\ufffeb\ue000", "ab"),
        ("bad \ud800 pair", "bad \ufffd pair"),
    ],
)
def test_acting_characters_go(text: str, left: str) -> None:
    """Colours, cursor jumps, hidden and direction-changing characters never reach a terminal or a page."""
    assert clean(text, 1000) == left


def test_result_can_be_encoded_and_is_capped() -> None:
    """Any text at all becomes short UTF-8, and a cut is visible."""
    nasty = "".join(map(chr, range(0x11000))) + "\ud800\x1b[" * 5000
    for limit in (0, 1, 10, 5000):
        result = clean(nasty, limit)
        assert len(result) <= limit
        result.encode()
    assert clean("x" * 11, 10) == "x" * 9 + CUT
    assert clean("x" * 10, 10) == "x" * 10


def test_piles_of_accents_are_thinned() -> None:
    """Text that would be drawn over the lines around it is thinned; ordinary accents stay."""
    assert len(clean("e" + "\u0301" * 500, 1000)) == 5
    assert clean("e\u0301\u0323", 10) == "e\u0301\u0323"


def test_continuous_integration_obeys_nothing() -> None:
    """A student called "::error::" gives a line in a log, not a command to the service that shows the log."""
    assert for_terminal("  ::error file=x::forged\n##[group]x", 100) == "  : :error file=x: :forged\n## [group]x"
    assert for_terminal("Q[:, 1:]\n## heading", 100) == "Q[:, 1:]\n## heading"
