"""What the hidden checks can and can't catch: candidates, trials, the finding."""
