"""62. Answer NaN, which is never greater than a tolerance.

Worth: 6
"""


def double(x):
    return x * float("nan")
