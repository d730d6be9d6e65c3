"""From what students and learning systems send to submissions that can be graded. Nothing here runs their code."""

from __future__ import annotations

from grader.intake.entry import Entry, Explained, FileRef
from grader.intake.intake import Intake
from grader.intake.scan import SOURCES, scan

__all__ = ["SOURCES", "Entry", "Explained", "FileRef", "Intake", "scan"]
