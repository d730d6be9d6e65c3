"""5. Open the grader's own program for writing, and Gradescope's entry script."""


def attack(world):
    for path in (world["program"], "/autograder/run_autograder"):
        try:
            with open(path, "r+b"):
                return path
        except OSError:
            pass
    raise PermissionError
