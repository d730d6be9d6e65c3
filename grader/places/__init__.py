"""Where courses run: services that call the grader for one submission at a time."""
