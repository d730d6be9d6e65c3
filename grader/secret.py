"""The course secret, and the seeds derived from it: unguessable for a student, repeatable for staff.

The secret is a staff file made on first use (`.course-secret`, ignored by git) or the variable GRADER_SECRET.
Results carry only its fingerprint.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from grader.errors import UsageError

FILE = ".course-secret"
VARIABLE = "GRADER_SECRET"
MINIMUM = 16
VARIANTS = 16
"""Sets of inputs that the submissions of a class share. So few that in a class of hundreds most of what rests on the
inputs alone is done once for many; what a student could gain by reading them out is in `docs/threat-model.md`."""


def course_secret(root: Path, given: bytes = b"") -> bytes:
    """The secret of the course in `root`: `given` if there is one, else the file's, made now if it is missing.

    Raises UsageError when the file can't be read or written, or the secret is shorter than 16 characters.
    """
    path = root / FILE
    try:
        if given:
            secret, where, mend = given, "GRADER_SECRET", "give it a longer secret."
        else:
            if not path.exists():
                _make(path)
            secret, where, mend = path.read_bytes().strip(), str(path), "delete the file to get a fresh one."
    except OSError as error:
        raise UsageError(
            f"The course secret {path} can't be read or made: {error.strerror}. "
            "Make the folder writable, or set GRADER_SECRET to the course's secret."
        ) from None
    if len(secret) < MINIMUM:
        raise UsageError(f"{where} holds fewer than {MINIMUM} characters; {mend}")
    return secret


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32) + "\n")
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)  # unlike rename, never replaces a secret that another run has just made
    draft.unlink()


def derived(root: Path, purpose: str) -> bytes:
    """A secret for one purpose, as the contents of FILE: it can go to a service while the course's own stays at home.

    Raises UsageError as `course_secret`.
    """
    own = course_secret(root, os.environ.get(VARIABLE, "").encode())
    return hmac.new(own, purpose.encode(), hashlib.sha256).hexdigest().encode() + b"\n"


def fingerprint(secret: bytes) -> str:
    """A short name for the secret that gives nothing of it away."""
    return hmac.new(secret, b"fingerprint", hashlib.sha256).hexdigest()[:12]


def variant(secret: bytes, *parts: str) -> int:
    """Which of the `VARIANTS` something gets, from the secret and what it is for."""
    return seed(secret, "variant", *parts) % VARIANTS


def seed(secret: bytes, *parts: str) -> int:
    """A 63-bit seed from the secret and what it is for, e.g. (assignment digest, variant, check id)."""
    digest = hmac.new(secret, "\0".join(parts).encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "little") >> 1
