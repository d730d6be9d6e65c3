"""The words of the pages, in any language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.errors import AssignmentError
from grader.pages.words import BUILT_IN, load_words


def test_a_course_may_replace_single_words(tmp_path: Path) -> None:
    """The rest stays as it is."""
    (tmp_path / "words.en.toml").write_text('fix = "Start here"\n')
    words = load_words([tmp_path])
    assert words["fix"] == "Start here"
    assert words["hint"] == load_words()["hint"]


def test_the_first_folder_wins(tmp_path: Path) -> None:
    """An assignment's words replace the course's."""
    for name in ("assignment", "course"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words.en.toml").write_text(f'fix = "{name}"\n')
    assert load_words([tmp_path / "assignment", tmp_path / "course"])["fix"] == "assignment"


def test_half_a_translation_is_an_error_that_names_what_is_missing(tmp_path: Path) -> None:
    """A page never has holes."""
    text = (BUILT_IN / "words.en.toml").read_text()
    (tmp_path / "words.xx.toml").write_text(re.sub(r"(?m)^hint = .*\n", "", text))
    with pytest.raises(AssignmentError, match=r"words\.xx\.toml lacks these words: hint\.$"):
        load_words([tmp_path], "xx")


@pytest.mark.parametrize(
    ("text", "said"), [("fix = ", "not valid TOML"), ("fix = 3", "fix: expected text in quotes"), (None, "There is no")]
)
def test_a_file_that_can_not_be_used_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    """Which file, and what is wrong with it."""
    if text is not None:
        (tmp_path / "words.xx.toml").write_text(text)
    with pytest.raises(AssignmentError, match=said):
        load_words([tmp_path], "xx")


def test_every_word_is_used_and_every_used_word_exists() -> None:
    """Translators are asked for nothing that no page shows."""
    root = BUILT_IN.parent
    sources = [*(root / "grader").glob("**/*.py"), *BUILT_IN.glob("*.j2"), *BUILT_IN.glob("*.js")]
    used = {word for path in sources for word in re.findall(r"\w+", path.read_text())}
    built = r"status_\w+|visibility_\w+|adjustment_\w+|state_\w+"  # completed from the data
    unused = [key for key in load_words() if not re.fullmatch(built, key) and re.sub("^js_|_one$", "", key) not in used]
    assert unused == []
