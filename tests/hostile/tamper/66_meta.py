"""66. Answer with a tensor that has a shape and no numbers.

Worth: 0
"""


def double(x):
    return x.to("meta")
