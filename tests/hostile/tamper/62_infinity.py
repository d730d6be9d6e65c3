"""62. Answer infinity, whose difference from infinity is NaN.

Worth: 6
"""


def double(x):
    return x * 0 + float("inf")
