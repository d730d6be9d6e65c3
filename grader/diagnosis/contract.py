"""Whether and how the student's function can be called, in a few small calls before the checks.

What does not fit is said in words that let the student mend it in a minute. Whether a recognised convention is
explained only, graded through an adapter, or accepted, is for `assignment.toml` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from grader import assignment
from grader.answers import where
from grader.call import Call, Invocation
from grader.diagnosis import crashes, forms, signature
from grader.diagnosis.examples import Examples
from grader.entry import Entry, Found, Loaded
from grader.misconception import Convention, Inputs, fresh
from grader.results import Place
from grader.student import Adapter

Calling = Callable[[Sequence[Invocation]], list[Call]]

TOLD = frozenset({"name", "arguments", "device named", "import", "stub"})
"""Families of crashes that are about the cell or the call, not about the computation, and are told at once."""


@dataclass(frozen=True)
class Verdict:
    """What the probe found. Without words everything fits."""

    words: str = ""
    place: Place | None = None
    adapter: Adapter | None = None
    deduction: float = 0.0
    """Fraction of the maximum that the adapter costs."""
    fatal: bool = False
    """Nothing can be called: trying the checks would only repeat the words."""
    recognised: tuple[str, ...] = ()
    """Ids of the conventions in use."""
    explains: frozenset[str] = frozenset()
    """Misconceptions that the words already explain."""
    translated: bool = False
    """Whether the adapter covers all that the words tell."""
    right: int = field(default=0, compare=False)
    """How many of the examples were answered as the reference answers them."""
    raised: bool = field(default=False, compare=False)
    """An example ended in an exception of the student's code."""

    @property
    def stuck(self) -> bool:
        """Whether something may be missing: nothing to call, or calls that end in an exception."""
        return self.fatal or self.raised

    def better(self, other: Verdict) -> bool:
        """Whether more works under this verdict than under the other."""
        return (not self.fatal, self.right) > (not other.fatal, other.right)


def probe(
    loaded: Loaded,
    calls: Calling,
    entry: Entry,
    examples: Examples | None = None,
    settings: Mapping[str, assignment.Convention] | None = None,
) -> Verdict:
    """Look at what was loaded, then call it on the examples.

    Args:
        calls: runs the student's function on the CPU.
        examples: without any, nothing is called.
        settings: convention id -> what to do about it; what is not named is explained only.
    Never says anything about a function that answers the examples as the reference does.
    """
    if loaded.entry is None:
        return Verdict(signature.missing(loaded, entry), signature.first_place(loaded), fatal=True)
    if loaded.entry.stub:
        words = f"{entry.function}() is not written yet. Replace what is in its body with your solution."
        return Verdict(words, loaded.entry.place, fatal=True)
    if loaded.entry.kind == "class":
        return Verdict(signature.not_a_function(loaded.entry, entry), loaded.entry.place, fatal=True)
    misfits = signature.misfits(loaded.entry, entry)
    if examples is None or not examples.inputs:
        return Verdict(" ".join(misfits), loaded.entry.place if misfits else None)
    return _Probe(loaded.entry, calls, entry, examples, settings or {}).verdict(misfits)


@dataclass(frozen=True)
class _Translation:
    """The adapter of recognised conventions: arguments on the way in, the form of the answer on the way out."""

    convention: Convention | None
    form: forms.Form | None

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
        translated = self.convention.arguments(args, kwargs) if self.convention else None
        return translated or (args, kwargs)

    def result(self, output: Any) -> Any:
        return self.form.translate(output) if self.form else output


class _Probe:
    """The calls of one probe."""

    def __init__(
        self,
        found: Found,
        calls: Calling,
        entry: Entry,
        examples: Examples,
        settings: Mapping[str, assignment.Convention],
    ) -> None:
        self.found, self.calls, self.entry, self.examples, self.settings = found, calls, entry, examples, settings
        self.made: list[tuple[Inputs, Call]] = []

    def verdict(self, misfits: list[str]) -> Verdict:
        words, place = list(misfits), self.found.place if misfits else None
        examples = self.examples.inputs
        plain: list[Call] = []
        for question in self.examples.questions:
            plain += self.calls(question)
            failure = plain[-1].failure
            if failure is not None and failure.kind != "exception":
                return Verdict(" ".join(words), place)  # a time-out, say: the checks will tell, once is enough
        self.made = list(zip(examples, plain, strict=True))
        replies = tuple(got.digest for got in plain)
        if not misfits and replies in self.examples.fitting:
            return Verdict(right=len(examples))
        answers = [(inputs, got) for inputs, got in self.made if got.failure is None]
        form = None
        if answers:
            form = forms.recognise(answers[0][1].output, self.examples.right(answers[0][0]), self.entry.returns)
        wrong = [inputs for inputs, got in zip(examples, plain, strict=True) if not self._agrees(got, inputs, form)]
        raised = len(answers) < len(plain)
        convention = self._convention(examples, wrong, form, crashed=not answers) if wrong else None
        if not answers and convention is None:
            told, at = self._told(plain, TOLD - {"arguments"} if misfits else TOLD)
            words, place = words + told, at or place
        decided = replace(
            self._decided(words, place, form, convention), right=len(examples) - len(wrong), raised=raised
        )
        if decided == Verdict() and not wrong and all(replies):
            self.examples.fitting.add(replies)
        return decided

    def _told(self, calls: Sequence[Call], families: frozenset[str]) -> tuple[list[str], Place | None]:
        """Crashes in every call that are about the cell or the call."""
        for got in calls:
            explained = crashes.explain(got.failure, self.entry) if got.failure else None
            if explained is not None and got.failure and crashes.family(got.failure) in families:
                return [f"{explained.title}{where(explained.place)}. {explained.explanation} {explained.hint}"], (
                    explained.place
                )
        return [], None

    def _convention(
        self, examples: Sequence[Inputs], wrong: Sequence[Inputs], form: forms.Form | None, *, crashed: bool
    ) -> Convention | None:
        """The first convention under which all examples that it can translate come out right, wrong ones among them.

        One that asks something smaller counts only where every plain call crashed: a wrong number is no convention.
        """
        for convention in self.examples.conventions:
            tried = [(inputs, convention.arguments(*inputs)) for inputs in examples]
            pairs = [(inputs, translated) for inputs, translated in tried if translated is not None]
            mended = any(inputs is other for inputs, _ in pairs for other in wrong)
            if (
                mended
                and (crashed or not convention.smaller)
                and all(
                    self._agrees(self._called(translated), translated if convention.smaller else inputs, form)
                    for inputs, translated in pairs
                )
            ):
                return convention
        return None

    def _decided(
        self, words: list[str], place: Place | None, form: forms.Form | None, convention: Convention | None
    ) -> Verdict:
        """The words, and the adapter as far as the settings allow one."""
        misfit = bool(words)
        adapted: list[tuple[str, float]] = []
        kept: dict[str, Any] = {"form": None, "convention": None}
        recognised: list[str] = []
        for key, one in (("form", form), ("convention", convention)):
            if one is None:
                continue
            recognised.append(one.id)
            words.append(one.words)
            setting = self.settings.get(one.id)
            if setting is None or setting.action == "explain" or not one.adaptable:
                continue
            kept[key] = one
            price = setting.deduction if setting.action == "adapt" else 0.0
            adapted.append((one.id, price))
            words.append(_price(price))
        adapter = _Translation(kept["convention"], kept["form"]) if adapted else None
        explains = frozenset(convention.misconceptions) if convention else frozenset()
        deduction = min(1.0, sum(price for _, price in adapted))
        translated = bool(adapted) and len(adapted) == len(recognised) and not misfit
        return Verdict(" ".join(words), place, adapter, deduction, False, tuple(recognised), explains, translated)

    def _called(self, inputs: Inputs) -> Call:
        """The call on copies of the inputs; once only for the same inputs."""
        for earlier, got in self.made:
            if _identical(earlier, inputs):
                return got
        [got] = self.calls([Invocation(*fresh(inputs))])
        self.made.append((inputs, got))
        return got

    def _agrees(self, got: Call, inputs: Inputs, form: forms.Form | None) -> bool:
        """Whether the call gives the reference's answer to `inputs`, in the assignment's form or in `form`."""
        if got.failure is not None:
            return False
        output = form.translate(got.output) if form else got.output
        values = (output,) if isinstance(output, Tensor) else output
        right = self.examples.right(inputs)
        if not isinstance(values, (tuple, list)):
            return False
        if form is not None and form.partial is not None:
            right = (right[form.partial],)
        return len(values) == len(right) and all(map(_close, values, right))


def _price(price: float) -> str:
    if price:
        return f"This time it was translated for you, at a cost of {price:.0%} of the points."
    return "This time it was translated for you, at no cost."


def _close(value: Any, right: Tensor) -> bool:
    if not isinstance(value, Tensor) or value.shape != right.shape or not value.is_floating_point():
        return False
    return torch.allclose(value.double(), right.double(), 1e-4, 1e-5, equal_nan=True)


def _identical(left: Inputs, right: Inputs) -> bool:
    """The same objects in the same places."""
    pairs = zip((*left[0], *left[1].values()), (*right[0], *right[1].values()), strict=False)
    return len(left[0]) == len(right[0]) and left[1].keys() == right[1].keys() and all(a is b for a, b in pairs)
