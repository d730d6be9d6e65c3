"""The four checks for otter-grader, a point each."""

import four_checks
from otter.test_files import test_case

OK_FORMAT = False

name = "attention"
points = None


@test_case(points=1, hidden=True)
def test_shape(scaled_dot_product_attention):
    four_checks.shape(scaled_dot_product_attention)


@test_case(points=1, hidden=True)
def test_row_sum(scaled_dot_product_attention):
    four_checks.row_sum(scaled_dot_product_attention)


@test_case(points=1, hidden=True)
def test_causal_zero(scaled_dot_product_attention):
    four_checks.causal_zero(scaled_dot_product_attention)


@test_case(points=1, hidden=True)
def test_parity(scaled_dot_product_attention):
    four_checks.parity(scaled_dot_product_attention)
