import torch as t
from attention_types import Scores

def softmax(x: Scores):
    return t.softmax(x, -1)
