"""For authors of assignments: masters, starters, new assignments."""
