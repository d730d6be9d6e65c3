"""What an autograder's `run_autograder` starts for each submission: the tests of a folder, results as JSON."""

import sys
import unittest
from pathlib import Path

from gradescope_utils.autograder_utils.json_test_runner import JSONTestRunner

suite = unittest.defaultTestLoader.discover("tests")
with Path(sys.argv[1]).open("w") as file:
    JSONTestRunner(visibility="visible", stream=file).run(suite)
