"""An autograder for courses that teach deep learning in PyTorch."""

__version__ = "0.1.0"
