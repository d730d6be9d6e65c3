"""The four checks for gradescope-utils, a point each."""

import unittest

import four_checks
from attention import scaled_dot_product_attention
from gradescope_utils.autograder_utils.decorators import weight


class TestAttention(unittest.TestCase):
    @weight(1)
    def test_shape(self):
        """Shapes"""
        four_checks.shape(scaled_dot_product_attention)

    @weight(1)
    def test_row_sum(self):
        """Rows sum to 1"""
        four_checks.row_sum(scaled_dot_product_attention)

    @weight(1)
    def test_causal_zero(self):
        """Nothing looks ahead"""
        four_checks.causal_zero(scaled_dot_product_attention)

    @weight(1)
    def test_parity(self):
        """Equal to PyTorch's own"""
        four_checks.parity(scaled_dot_product_attention)
