"""The words of pages and sentences, one TOML file a language, so that nothing but that file is translated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from grader import settings_file
from grader.errors import AssignmentError

BUILT_IN = Path(__file__).resolve().parents[2] / "templates"
"""The templates and words that come with the grader."""

Words = Mapping[str, str]


def with_built_in(folders: Sequence[Path]) -> list[Path]:
    """The folders to look in, in order of precedence, ending with the grader's own."""
    return [*(folder for folder in folders if folder.resolve() != BUILT_IN), BUILT_IN]


def load_words(folders: Sequence[Path] = (), language: str = "en") -> Words:
    """The words of a language; those in earlier folders replace those in later ones.

    Raises AssignmentError: no file for the language, a file that is not TOML, or words that the English file
    has and this language lacks (they are named: half a translation would show through as holes in a page).
    """
    name = f"words.{language}.toml"
    words: dict[str, str] = {}
    found = [path for folder in with_built_in(folders) if (path := folder / name).is_file()]
    for path in reversed(found):
        words.update(_read(path))
    if not found:
        looked = ", ".join(str(folder) for folder in with_built_in(folders))
        raise AssignmentError(f"There is no {name} in {looked}. Copy words.en.toml and translate it.")
    missing = sorted(_read(BUILT_IN / "words.en.toml").keys() - words.keys())
    if missing:
        raise AssignmentError(f"{found[0]} lacks these words: {', '.join(missing)}.")
    return words


def _read(path: Path) -> dict[str, str]:
    table = settings_file.parsed(path)
    wrong = [key for key, value in table.items() if not isinstance(value, str)]
    if wrong:
        raise AssignmentError(f"{path}: {wrong[0]}: expected text in quotes.")
    return table
