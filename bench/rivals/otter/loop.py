"""Grade the same notebook `sys.argv[1]` times in one process: the cheapest way that otter-grader offers."""

import sys

from otter.api import grade_submission

for _ in range(int(sys.argv[1])):
    result = grade_submission("attention.ipynb", "autograder.zip", quiet=True)
    if result.total != 4:
        sys.exit(f"{result.total} of 4 points")
