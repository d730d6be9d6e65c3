"""Which sets of ideas fit all parts of the recorded calls: found part by part, the fewest ideas first."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from grader.catalogue import Catalogue, Item
from grader.parts import NO, ODD, YES, Part, Returned

WORK = 3_000
"""Pairs and triples that are compared before the search goes on with single ideas only: a number and not a time, so
that the same submission is always diagnosed the same."""
STYLES = 2
"""Styles of one set that are followed: most give the same numbers."""
WIDTH = 40
"""Sets that are followed from one part to the next."""


class Search:
    """The search for one submission."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.work = 0

    def fitting(self, parts: Sequence[Part], most: int, *, thorough: bool = True) -> list[int]:
        """The sets of at most `most` ideas that fit every part; the empty set may be among them.

        A set that fails at a part is extended by ideas that make a difference there. Ideas that would have shown
        at an earlier part, alone, are not taken for that: they would have been needed there already. When not
        thorough, a set is extended by two ideas at once only where no single one will do.
        """
        fitting = [0]
        for index, part in enumerate(parts):
            found: dict[int, None] = {}
            for chosen in fitting:
                verdict = part.fits(chosen)
                if verdict == YES:
                    found[chosen] = None
                    continue
                for sets in self._extended(chosen, verdict, part, parts[:index], most):
                    more = dict.fromkeys(sets)
                    found.update(more)
                    if more and not thorough:
                        break
            fitting = self._lean(found)[:WIDTH]
            if not fitting:
                break
        return fitting

    def _lean(self, sets: Iterable[int]) -> list[int]:
        """The sets of which no part does as well, fewest and likeliest ideas first.

        What is left out comes back by itself at a part where it makes a difference.
        """
        kept: list[int] = []
        for chosen in sorted(sets, key=self._rank):
            if not any(less & chosen == less for less in kept):
                kept.append(chosen)
        return kept

    def _rank(self, chosen: int) -> tuple[int, int]:
        members = self.catalogue.members(chosen)
        return sum(item.idea is not None for item in members), sum(item.rank for item in members)

    def _extended(
        self, chosen: int, verdict: int, part: Part, earlier: Sequence[Part], most: int
    ) -> Iterator[Iterator[int]]:
        """The sets that contain `chosen`, fit the part and all earlier ones, and have at most `most` ideas: those
        with a style more first, then with one idea more, then with two."""
        if verdict == ODD:
            yield self._styled(chosen, part, earlier)
        room = most - self.catalogue.size(chosen)
        if room < 1:
            return
        items = [item for item in self.catalogue.ideas if self.catalogue.fits(chosen, item)]
        shown = _first_of_each(earlier)
        if part.dear:
            same = [other for other in earlier if other.whatif is part.whatif and isinstance(other, Returned)]
            items = [item for item in items if not any(other.touched(chosen, item.bit) for other in same)]
        items = [item for item in items if part.touched(chosen, item.bit)]
        yield self._all_fitting((chosen | item.bit for item in items), part, earlier)
        if room < 2:
            return
        items = [item for item in items if not any(other.touched(chosen, item.bit) for other in shown)]
        for size in range(2, room + 1):
            combined = (chosen | more for more in self._combined(items, size))
            yield self._all_fitting(self._counted(combined), part, earlier)

    def _counted(self, sets: Iterable[int]) -> Iterator[int]:
        """As many of the sets as may still be compared."""
        for chosen in sets:
            if self.work >= WORK:
                return
            self.work += 1
            yield chosen

    def _combined(self, items: Sequence[Item], size: int) -> Iterator[int]:
        """Sets of `size` items that set different knobs; likelier items sooner."""
        for last in range(size - 1, len(items)):
            for first in itertools.combinations(items[:last], size - 1):
                chosen = items[last].bit
                for item in first:
                    if not self.catalogue.fits(chosen, item):
                        break
                    chosen |= item.bit
                else:
                    yield chosen

    def _all_fitting(self, sets: Iterable[int], part: Part, earlier: Sequence[Part]) -> Iterator[int]:
        """Those of the sets, with a style where that is needed, that fit the part and all earlier ones."""
        for chosen in sets:
            verdict = part.fits(chosen)
            if verdict == NO:
                continue
            if verdict == ODD or not all(other.fits(chosen) == YES for other in earlier):
                yield from self._styled(chosen, part, earlier)
            else:
                yield chosen

    def _styled(self, chosen: int, part: Part, earlier: Sequence[Part]) -> Iterator[int]:
        """The set with a style that makes it fit, if it fits but for odd places."""
        if any(other.fits(chosen) == NO for other in earlier):
            return
        styled = (chosen | style.bit for style in self.catalogue.styles if self.catalogue.fits(chosen, style))
        fitting = (both for both in styled if all(other.fits(both) == YES for other in (part, *earlier)))
        yield from itertools.islice(fitting, STYLES)


def _first_of_each(parts: Sequence[Part]) -> list[Returned]:
    """The first returned value of each kind of call: enough to see whether an idea shows in such calls."""
    return list({part.kind: part for part in reversed(parts) if isinstance(part, Returned)}.values())[::-1]
