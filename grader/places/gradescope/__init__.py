"""Gradescope: build its zip, run inside its container, and rehearse a run at home."""
