"""The public check of this assignment in one file that needs nothing but torch.

from check_centre_rows import check
check(centre_rows)
"""

import html

import torch


def check(function):
    """Try `function(x)` on small random numbers; the verdict shows itself as a notebook cell's last value."""
    torch.manual_seed(2024)
    x = torch.randn(4, 5)
    try:
        y = function(x.clone())
    except NotImplementedError:
        return Verdict("The function is not written yet.")
    except Exception as error:
        return Verdict(f"It stopped with {type(error).__name__}: {error}")
    if not isinstance(y, torch.Tensor) or y.shape != x.shape:
        return Verdict("It should return one tensor of the shape of x.")
    if not torch.allclose(y, x - x.mean(-1, keepdim=True), atol=1e-5):
        return Verdict("The numbers are not right. Does each row have mean 0?", y)
    return Verdict()


class Verdict:
    """What the public check found: as text in a terminal, as a small page in a notebook."""

    def __init__(self, problem="", numbers=None):
        self.passed = not problem
        self.text = problem or "All public checks passed. The checks that give the mark try more."
        self.numbers = numbers

    def __repr__(self):
        return self.text if self.numbers is None else f"{self.text}\nyour result: {self.numbers}"

    def _repr_html_(self):
        color = "#1a7f37" if self.passed else "#b35900"
        return f'<div style="border-left:4px solid {color};padding:4px 12px"><pre>{html.escape(repr(self))}</pre></div>'
