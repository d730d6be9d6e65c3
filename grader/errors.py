"""Everything that can go wrong on our side of the wall.

GraderError                 shown as one message, never a traceback
├── UsageError              wrong use or configuration: exit status 2
│   ├── AssignmentError     a half of an assignment is missing or malformed
│   ├── IntakeError         nothing that could be graded was found
│   └── ReadError           what was handed in is there, but this machine can't read it: permissions, a failing disk
├── SampleClassError        the made-up class did not get the marks that are listed for it: exit status 1
└── GraderFault             we failed, not the student: exit status 1
    └── SandboxError        a zygote or a wire broke; the submission is tried again

What a *student's* code does wrong is never an exception of this tree: it is data (`Failure`, `Problem`).
"""

from __future__ import annotations


class GraderError(Exception):
    """Base of all errors that the grader raises on purpose. The text says what, where and how to mend it."""

    exit_status = 1


class UsageError(GraderError):
    """The command or its configuration is wrong; the person who typed it can mend it."""

    exit_status = 2


class AssignmentError(UsageError):
    """A folder in `assignments/` or `solutions/` can't be used; names the file and the place in it."""


class IntakeError(UsageError):
    """There are no submissions where they should be."""


class ReadError(UsageError):
    """A file or folder is there and can't be read here. Never held against whoever handed it in."""


class SampleClassError(GraderError):
    """The checks and the list of the sample class disagree: one of them is wrong."""


class GraderFault(GraderError):
    """The grader itself failed. Never turned into a zero."""


class SandboxError(GraderFault):
    """The process that forks sandboxes, or the channel to it, broke."""
