"""What every submission's function is tried with before the checks, and the right answers to that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.call import Invocation
from grader.misconception import Convention, Inputs, fresh
from grader.sandbox.questions import Questions


class Examples:
    """The same for the whole class; none where there are no conventions to recognise by them."""

    def __init__(self, conventions: Sequence[Convention], reference: Callable[..., Any]) -> None:
        self.inputs: Sequence[Inputs] = conventions[0].examples() if conventions else ()
        self.conventions = conventions
        self.questions = [Questions([Invocation(*fresh(inputs))]) for inputs in self.inputs]
        """One by one: behind a function that hangs, nothing more is asked."""
        self.fitting: set[tuple[bytes, ...]] = set()
        """Digests of replies in which nothing was found: the same replies need not be looked at again."""
        self._reference = reference

    def right(self, inputs: Inputs) -> tuple[Tensor, ...]:
        """The reference's answer to these or other inputs."""
        args, kwargs = fresh(inputs)
        answer = self._reference(*args, **kwargs)
        return (answer,) if isinstance(answer, Tensor) else tuple(answer)
