"""63. Answer with a dimension too many, so that a comparison broadcasts.

Worth: 2
"""


def double(x):
    return (x * 2).unsqueeze(0)
