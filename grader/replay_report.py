"""One check of one submission in a terminal: how it ended, and the calls that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from torch import Tensor

from grader import answers
from grader.call import Call, copied
from grader.entry import Entry
from grader.results import CheckResult
from grader.text import for_terminal

LINES = 12
"""Of one value; the rest is cut."""


@dataclass(frozen=True)
class ReplayReport:
    """How to print the calls of one assignment."""

    entry: Entry
    reference: Callable[..., Any]
    whole: bool
    """Every call and every number, and not only the call that the check failed at."""

    def show(self, console: Console, result: CheckResult, calls: Sequence[Call], ended: str) -> None:
        """The verdict first. `ended`: how the check ended, beside how it ended in the run."""
        console.print(f"[bold]{escape(result.title)}[/] ({escape(result.id)}): {escape(ended)}", soft_wrap=True)
        for words in (result.message, result.hint, result.detail):
            if words:
                console.print(escape(for_terminal(words, 4000)), soft_wrap=True)
        shown = range(len(calls)) if self.whole else _deciding(result, calls)
        for number in shown:
            console.rule(f"call {number + 1} of {len(calls)}  {escape(calls[number].case)}")
            for line in self._lines(calls[number]):
                console.print(escape(line), soft_wrap=True)
        if not self.whole and calls:
            console.print("All calls, with every number: the same command with --all.")

    def _lines(self, call: Call) -> Iterator[str]:
        names = [text.partition("=")[0].strip() for text in self.entry.arguments]
        names += [f"argument {index + 1}" for index in range(len(names), len(call.args))]
        for name, value in (*zip(names, call.args, strict=False), *call.kwargs.items()):
            yield from self._value(name, value)
        failure = call.failure
        if failure is None:
            yield from self._answer("returned", call.output)
        elif failure.kind == "exception":
            yield for_terminal(f"raised {failure.type}: {failure.message}", 2000)
            yield for_terminal(failure.trace, 4000)
        else:
            yield answers.explain(failure)
        try:
            expected = self.reference(*copied(call.args), **copied(call.kwargs))
        except Exception:  # not every call is one that the reference is meant for
            return
        yield from self._answer("expected", expected)

    def _answer(self, what: str, output: Any) -> Iterator[str]:
        """What came back, each value by its name where it has the promised form."""
        if answers.fits(output, self.entry.returns):
            values = output if len(self.entry.returns) > 1 else (output,)
            for name, value in zip(self.entry.returns, values, strict=True):
                yield from self._value(f"{what} {name}", value)
        else:
            yield from self._value(what, output)

    def _value(self, name: str, value: Any) -> Iterator[str]:
        form = f" {tuple(value.shape)} {value.dtype}" if isinstance(value, Tensor) else ""
        lines = for_terminal(str(value), 1_000_000 if self.whole else 4000).splitlines()
        shown = lines if self.whole else lines[:LINES]
        yield f"{name}{form}:" + (" " if len(shown) == 1 else "\n") + "\n".join(shown)
        if len(shown) < len(lines):
            yield f"... {len(lines) - len(shown)} more lines"


def _deciding(result: CheckResult, calls: Sequence[Call]) -> range:
    """The call that the check failed at: that of the case which its message names, one without an answer, the last."""
    told = result.message.casefold()
    for number, call in enumerate(calls):
        if call.case and told.startswith(f"{call.case}: ".casefold()):
            return range(number, number + 1)
    lost = [number for number, call in enumerate(calls) if call.failure is not None]
    number = lost[0] if lost else len(calls) - 1
    return range(number, number + 1) if calls else range(0)
