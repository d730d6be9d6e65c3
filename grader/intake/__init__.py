"""From what students and learning systems send to submissions that can be graded. Nothing here runs their code."""

from __future__ import annotations

from grader.intake.entry import Entry, Explained, FileRef
from grader.intake.scan import SOURCES, Intake, scan

__all__ = ["SOURCES", "Entry", "Explained", "FileRef", "Intake", "scan"]
