"""35. Answer with an object that never finishes describing itself.

Ends as: timeout
"""

import torch


class Slow(torch.Tensor):
    @property
    def dtype(self):
        while True:
            pass

    def __getattribute__(self, name):
        while True:
            pass

    @classmethod
    def __torch_function__(cls, *_):
        while True:
            pass


def attack(world):
    return torch.ones(2).as_subclass(Slow)
