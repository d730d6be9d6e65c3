"""The student's own code with the lines that matter marked."""

from __future__ import annotations

from grader.pages.excerpt import MOST_LINES, Code
from grader.pages.words import load_words
from grader.results import Place, SourceText

CODE = Code([SourceText(file="a.py", cell=None, text="".join(f"line {n}\n" for n in range(1, 11)))])


def test_the_line_is_shown_with_its_neighbours_and_marked() -> None:
    """Enough to recognise the place."""
    block = CODE.around(Place(file="a.py", line=2))
    assert block is not None
    assert block.text == "  1  line 1\n▶ 2  line 2\n  3  line 3\n  4  line 4"


def test_a_place_in_code_that_is_not_there_shows_the_line_it_carries() -> None:
    """Nothing is invented, and nothing breaks."""
    lone = CODE.around(Place(file="b.py", line=7, text="x = 1"))
    assert lone is not None
    assert lone.text == "▶ 7  x = 1"
    assert CODE.around(Place(file="b.py", line=7)) is None
    assert CODE.around(None) is None


def test_cells_of_a_notebook_are_kept_apart() -> None:
    """Line 1 of cell 3 is not line 1 of cell 2."""
    code = Code([SourceText(file="n.ipynb", cell=cell, text=f"cell {cell}") for cell in (2, 3)])
    blocks, cut = code.whole([Place(file="n.ipynb", line=1, cell=3)])
    assert [(block.label(load_words()), block.lines[0].marked) for block in blocks] == [
        ("n.ipynb, cell 2", False),
        ("n.ipynb, cell 3", True),
    ]
    assert not cut


def test_of_very_long_work_the_part_around_the_marked_line_is_shown() -> None:
    """The page stays small, says that it is cut, and still shows what matters."""
    code = Code([SourceText(file="a.py", cell=None, text="x\n" * 5000)])
    blocks, cut = code.whole([Place(file="a.py", line=4000)])
    assert cut
    assert len(blocks[0].lines) == MOST_LINES
    assert [line.number for line in blocks[0].lines if line.marked] == [4000]


def test_control_characters_in_code_are_not_passed_on() -> None:
    """A terminal sequence or a change of text direction can't hide what the code says."""
    blocks, _ = Code([SourceText(file="a.py", cell=None, text="a\x1b[31m\u202eb\x00\r\nc")]).whole([])
    assert [line.text for line in blocks[0].lines] == ["ab", "c"]
