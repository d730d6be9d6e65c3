"""17. Poison what a later run would load: byte code, compiled kernels, library files."""

import importlib.util
import os

import numpy
import torch


def attack(world):
    places = [importlib.util.cache_from_source(torch.__file__), torch.__file__, numpy.__file__]
    for path in places:
        try:
            with open(path, "r+b"):
                return path
        except OSError:
            pass
    folder = f"/tmp/torchinductor_{world['word']}"
    os.mkdir(folder)
    return folder
