"""The words of a diagnosis: what was found, and for staff on what evidence."""

from __future__ import annotations

from collections.abc import Sequence

from grader.diagnosis.catalogue import Catalogue
from grader.diagnosis.part import Part
from grader.diagnosis.parts import Failed
from grader.diagnosis.returned import Returned
from grader.results import DiagnosisResult


def written(
    catalogue: Catalogue, sets: Sequence[int], parts: Sequence[Part], calls: int, recorded: int
) -> DiagnosisResult:
    """The first of the sets, and the others as what can't be told from it.

    Args:
        parts: what these `calls` show, all of which the sets reproduce; `recorded` were made by the checks.
    """
    chosen, *others = sets
    ideas = catalogue.ideas_of(chosen)
    titles = [idea.title for idea in ideas]
    explanation = "\n\n".join(idea.explanation for idea in ideas)
    if others:
        same = "; or ".join(", and ".join(idea.title for idea in catalogue.ideas_of(other)) for other in others)
        explanation += f"\n\nThese calls can't tell this from: {same}."
    failed = [part for part in parts if isinstance(part, Failed)]
    return DiagnosisResult(
        misconceptions=[idea.id for idea in ideas],
        titles=[_capital(title) for title in titles],
        title=_capital(", and ".join(titles)),
        explanation=explanation,
        hint="\n\n".join(dict.fromkeys(idea.hint for idea in ideas)),
        section=ideas[0].section,
        evidence=_evidence(chosen, parts, calls, recorded),
        alternatives=[[idea.id for idea in catalogue.ideas_of(other)] for other in others],
        place=failed[0].failure.place if failed else None,
    )


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]


def _evidence(chosen: int, parts: Sequence[Part], calls: int, recorded: int) -> str:
    """For staff: how many calls the set reproduces, and how closely."""
    largest = max((part.gap(chosen) for part in parts if isinstance(part, Returned)), default=0.0)
    words = f"matches {calls} of {calls} calls"
    if calls < recorded:
        words += f" ({recorded - calls} calls that failed are explained apart)"
    return f"{words}; largest difference {largest:.1e}"
