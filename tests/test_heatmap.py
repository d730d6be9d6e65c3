"""Pictures of numbers: what is marked, what is masked, and which colour means what."""

from __future__ import annotations

import pytest
import reports

from grader.pages.heatmap import cell_text, figure, grid
from grader.pages.words import load_words
from grader.results import Picture

WORDS = load_words()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (-1.25, "−1.25"),
        (0.0, "0"),
        (4e-8, "4e−8"),
        (-2.5e6, "−2e6"),
        (123.4, "123"),
        ("nan", "NaN"),
        ("inf", "∞"),
        ("-inf", "−∞"),
    ],
)
def test_a_cell_shows_its_number_in_a_few_characters(value: float | str, text: str) -> None:
    """Short enough for a table, and a tiny number is never shown as 0."""
    assert cell_text(value) == text


def test_weights_get_row_sums_and_a_wrong_sum_is_marked() -> None:
    """Where the expected rows sum to 1, each row's sum stands beside it."""
    picture = Picture(
        title="Weights",
        rows="query",
        columns="key",
        yours=[[0.9, 0.9], ["nan", "nan"]],
        expected=[[0.5, 0.5], [0.25, 0.75]],
    )
    yours, expected = figure(picture, WORDS).panels
    assert yours.sums == [("sum off", "1.80"), ("sum off", "NaN")]
    assert expected.sums == [("sum", "1"), ("sum", "1")]


def test_other_numbers_get_no_row_sums() -> None:
    """Sums of an output mean nothing, so they are not there to confuse."""
    assert all(panel.sums == [] for panel in figure(reports.nan_picture(), WORDS).panels)


def test_the_mask_is_drawn_and_masked_cells_are_hatched() -> None:
    """The causal triangle can be seen in every table and as a table of its own."""
    made = figure(reports.weights_picture(size=3), WORDS)
    assert [panel.name for panel in made.panels] == ["yours", "expected", "difference", "mask"]
    assert [[text for _, text in row] for row in made.panels[3].rows] == [
        ["1", "0", "0"],
        ["1", "1", "0"],
        ["1", "1", "1"],
    ]
    assert " k" in made.panels[1].rows[0][2][0]


def test_wrong_cells_are_marked_in_yours_and_not_in_expected() -> None:
    """The most wrong cell stands out from the others, and a sentence names it with both numbers."""
    made = figure(reports.weights_picture(), WORDS)
    classes = {
        name: " ".join(k for row in panel.rows for k, _ in row) for name, panel in zip("yedm", made.panels, strict=True)
    }
    assert classes["y"].count(" w") == 1
    assert " m" in classes["y"]
    assert " m" not in classes["e"]
    assert made.worst == "The cell that is most wrong is query 2, key 5: yours is 0.76, expected is 0."


def test_a_window_of_a_larger_tensor_keeps_the_numbers_of_the_tensor() -> None:
    """Row and column numbers are those that the student can index with."""
    made = figure(Picture(title="t", rows="r", columns="c", yours=[[1.0, 2.0]], marked=[[0, 1]], top=7, left=30), WORDS)
    assert (made.row_numbers, made.column_numbers) == ([7], [30, 31])
    assert "r 7, c 31" in made.worst


def test_rounding_noise_beside_a_real_difference_has_no_colour() -> None:
    """Colour goes to what matters; above and below zero have colours of their own."""
    picture = Picture(title="t", rows="r", columns="c", yours=[[1.0]], difference=[[0.5, 1e-9, -0.5, 0.0]])
    row = figure(picture, WORDS).panels[1].rows[0]
    assert [k for k, _ in row] == ["p5", "s0", "n5", "s0"]


def test_nan_and_infinity_have_a_look_of_their_own() -> None:
    """They are no point of any scale."""
    rows = figure(reports.nan_picture(), WORDS).panels[0].rows
    assert rows[0][0] == ("x w", "NaN")
    assert rows[1][1] == ("x m", "∞")


def test_the_text_form_has_the_same_marks_without_colour() -> None:
    """Brackets for wrong, dots for masked, and columns that line up."""
    made = figure(reports.weights_picture(size=3), WORDS)
    assert grid(made.panels[0], made.row_numbers, made.column_numbers) == (
        "      0      1      2  Σ\n0  0.41  [0.50] [0.09] 1\n1  0.23   0.16  [0.61] 1\n2  0.17   0.10   0.73  1"
    )
    assert grid(made.panels[3], made.row_numbers, made.column_numbers) == (
        "   0   1   2\n0  1  ·0· ·0·\n1  1   1  ·0·\n2  1   1   1"
    )
