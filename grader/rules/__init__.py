"""What happens to a score after the checks: lateness, attempts, decisions of staff."""
