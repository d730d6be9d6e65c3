"""Which sets of ideas fit all parts of the recorded calls: found part by part, the fewest ideas first."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from grader.catalogue import Catalogue, Item
from grader.parts import NO, ODD, YES, Part, Returned

WORK = 2_000
"""Sets of two or three that one round compares before it goes on with single ideas only: a number and not a time, so
that the same submission is always diagnosed the same. Sets that an earlier round compared are not counted again."""
STYLES = 2
"""Styles of one set that are followed: most give the same numbers."""
WIDTH = 40
"""Sets that are followed from one part to the next."""


class Search:
    """The search for one submission."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._work = 0
        self._compared: set[tuple[Part, int]] = set()

    def fitting(self, parts: Sequence[Part], most: int, *, thorough: bool = True) -> list[int]:
        """The sets of at most `most` ideas that fit every part; the empty set may be among them.

        A set that fails at a part is extended by ideas that make a difference there. Ideas that would have shown
        at an earlier part, alone, are not taken for that: they would have been needed there already. When not
        thorough, a set is extended by two ideas at once only where no single one will do.
        """
        self._work, fitting = 0, [0]
        for index, part in enumerate(parts):
            found: dict[int, None] = {}
            for chosen in fitting:
                verdict = part.fits(chosen)
                if verdict == YES:
                    found[chosen] = None
                    continue
                for sets in self._extended(chosen, verdict, part, parts[:index], most, thorough=thorough):
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
        self, chosen: int, verdict: int, part: Part, earlier: Sequence[Part], most: int, *, thorough: bool
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
        active = [item for item in items if part.touched(chosen, item.bit)]
        yield self._all_fitting((chosen | item.bit for item in active), part, earlier, most)
        if room < 2:
            return
        fresh = [item for item in active if not any(other.touched(chosen, item.bit) for other in shown)]
        for size in range(2, room + 1):
            combined = (chosen | more for more in self._combined(fresh, size))
            yield self._all_fitting(self._counted(combined, part), part, earlier)
        if thorough and not part.dear:
            yield self._all_fitting(self._counted(self._woken(chosen, active, items, part), part), part, earlier)

    def _woken(self, chosen: int, active: Sequence[Item], items: Sequence[Item], part: Part) -> Iterator[int]:
        """Sets of two items more, the second of which makes a difference only on top of the first."""
        node, plans = part.whatif.node, self.catalogue.plans
        sleeping = [item for item in items if item not in active]
        stirring = {
            item.bit: [
                name for name in self.catalogue.steps[item.bit] if node(name, chosen | item.bit) is node(name, chosen)
            ]
            for item in sleeping
        }
        for first in active:
            base = chosen | first.bit
            changed = {name for name in plans if node(name, base) is not node(name, chosen)}
            for item in sleeping:
                reached = any(
                    name not in stirring[item.bit] or not changed.isdisjoint(plans[name].step.inputs)
                    for name in self.catalogue.steps[item.bit]
                )
                if reached and self.catalogue.fits(base, item):
                    yield base | item.bit

    def _mended(self, chosen: int, part: Part, other: Part, most: int) -> Iterator[int]:
        """The set with one item more that undoes what the set does wrong at an earlier part of the same call."""
        if other.whatif is part.whatif and self.catalogue.size(chosen) < most:
            for item in self.catalogue.ideas:
                both = chosen | item.bit
                if self.catalogue.fits(chosen, item) and other.fits(both) == YES and part.fits(both) == YES:
                    yield both

    def _counted(self, sets: Iterable[int], part: Part) -> Iterator[int]:
        """As many of the sets as this round may still compare."""
        for chosen in sets:
            if (part, chosen) not in self._compared:
                if self._work >= WORK:
                    return
                self._work += 1
                self._compared.add((part, chosen))
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

    def _all_fitting(self, sets: Iterable[int], part: Part, earlier: Sequence[Part], most: int = 0) -> Iterator[int]:
        """Those of the sets, with a style where that is needed, that fit the part and all earlier ones.

        A set below `most` ideas that fails only at an earlier part of the same call is tried with one more.
        """
        for chosen in sets:
            verdict = part.fits(chosen)
            if verdict == NO:
                continue
            failing = next((other for other in earlier if other.fits(chosen) != YES), None)
            if verdict == YES and failing is None:
                yield chosen
            elif failing is None or failing.fits(chosen) == ODD:
                yield from self._styled(chosen, part, earlier)
            elif verdict == YES:
                yield from self._all_fitting(self._mended(chosen, part, failing, most), part, earlier)

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
