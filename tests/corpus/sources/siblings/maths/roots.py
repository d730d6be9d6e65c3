from .constants import ONE
from math import sqrt

def root(x):
    return sqrt(x) * ONE
