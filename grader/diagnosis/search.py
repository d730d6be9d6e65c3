"""Which sets of ideas fit all parts of the recorded calls: found part by part, the fewest ideas first."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from grader.diagnosis.catalogue import Catalogue, Item
from grader.diagnosis.part import NO, YES, Part
from grader.diagnosis.returned import Returned

LOOKED_UP, COMPARED = 2_600, 1_000
"""Sets that are tried in one layer where a table has their answers, and in any other layer: numbers and not a time, so
that the same submission is always diagnosed the same."""
STYLES = 2
"""Styles of one kind, which set the same knobs, that are followed for one set: most give the same numbers."""
WIDTH = 40
"""Sets that are followed from one part to the next."""


class Search:
    """The search for one submission."""

    def __init__(self, catalogue: Catalogue, quiet: Callable[[], int]) -> None:
        self.catalogue, self.quiet = catalogue, quiet
        self._layers: dict[tuple[Part, int, str], list[int]] = {}

    def fitting(self, parts: Sequence[Part], most: int, *, thorough: bool) -> list[int]:
        """The sets of at most `most` ideas that fit every part; the empty set may be among them.

        A set that fails at a part is extended by ideas that make a difference there. Ideas that would have shown
        at an earlier part, alone, are not taken for that: they would have been needed there already. When not
        thorough, sets are extended in a dearer way only where the cheaper ways lead nowhere.
        """
        fitting = [0]
        for index, part in enumerate(parts):
            earlier = parts[:index]
            found = {chosen: None for chosen in fitting if part.fits(chosen) == YES}
            failing = [chosen for chosen in fitting if chosen not in found]
            layers = [self._layers_above(chosen, part, earlier, most) for chosen in failing]
            for level, sets in enumerate(itertools.zip_longest(*layers, fillvalue=())):
                for other in itertools.chain.from_iterable(sets):
                    if all(before.fits(other) == YES for before in earlier):
                        found[other] = None
                if found and level and not thorough:
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
        for chosen in sorted(sets, key=self.catalogue.rank):
            if not any(less & chosen == less for less in kept):
                kept.append(chosen)
        return kept

    def _layers_above(self, chosen: int, part: Part, earlier: Sequence[Part], most: int) -> Iterator[list[int]]:
        """The sets that contain `chosen`, fit the part and all earlier ones, and have at most `most` ideas: those
        with a style more first, then with one idea more, then with two. Each layer is computed once."""
        yield self._once(part, chosen, "style", lambda: self._styled(chosen, part, earlier))
        room = most - self.catalogue.size(chosen)
        if room < 1:
            return
        part.whatif.share()
        items = [item for item in self._able(part) if self.catalogue.fits(chosen, item)]
        shown = [other for other in _first_of_each(earlier) if other.whatif.tables is not None]
        near = [item for item in items if not any(other.touched(0, item.bit) for other in shown)]
        far = [item for item in items if item not in near]
        for name, nearer in (("one", near), ("another", far)):
            single = [chosen | item.bit for item in nearer]
            yield self._once(part, chosen, name, functools.partial(self._all_fitting, single, part, earlier))
        if room < 2:
            return
        active = [item for item in items if part.touched(chosen, item.bit)]
        single = [chosen | item.bit for item in active]
        yield self._once(part, chosen, "mended", lambda: self._mended(single, part, earlier))
        shown = _first_of_each(earlier)
        fresh = [item for item in active if not any(other.touched(chosen, item.bit) for other in shown)]
        fresh.sort(key=lambda item: not item.bit & self.catalogue.drawn)  # few, and no table knows them beforehand
        for size in range(2, room + 1):
            combined = (chosen | more for more in self._combined(fresh, size))
            key = None if chosen else (size, *(item.bit for item in fresh))
            yield self._once(part, chosen, str(size), functools.partial(self._tried, combined, part, earlier, key))
        if not part.dear:
            woken = self._woken(chosen, active, items, part)
            key = None if chosen else (0, *(item.bit for item in active), *(item.bit for item in items))
            yield self._once(part, chosen, "woken", functools.partial(self._tried, woken, part, earlier, key))

    def _able(self, part: Part) -> Sequence[Item]:
        """The ideas that may make a difference at the part."""
        quiet = self.quiet() if part.dear else -1
        return [item for item in self.catalogue.ideas if item.bit & part.upstream & quiet]

    def _once(self, part: Part, chosen: int, name: str, sets: Callable[[], Iterable[int]]) -> list[int]:
        key = part, chosen, name
        if key not in self._layers:
            self._layers[key] = list(sets())
        return self._layers[key]

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
                    name not in stirring[item.bit] or not changed.isdisjoint((name, *plans[name].step.inputs))
                    for name in self.catalogue.steps[item.bit]
                )
                if reached and self.catalogue.fits(base, item):
                    yield base | item.bit

    def _mended(self, sets: Sequence[int], part: Part, earlier: Sequence[Part]) -> Iterator[int]:
        """Sets that fit here but not at an earlier part of the same call, with one item more that mends that."""
        same = [other for other in earlier if other.whatif is part.whatif]
        for chosen in sets:
            if part.fits(chosen) == YES and any(other.fits(chosen) == NO for other in same):
                items = (item for item in self.catalogue.ideas if self.catalogue.fits(chosen, item))
                mended = (both for item in items if same[0].fits(both := chosen | item.bit) == YES)
                yield from self._all_fitting(mended, part, earlier)

    def _tried(
        self, sets: Iterable[int], part: Part, earlier: Sequence[Part], key: tuple[int, ...] | None
    ) -> Iterator[int]:
        """As many of the sets as are tried in one layer. The same key stands for the same sets; None is no key."""
        if key is not None and part.tabled:
            sets = part.looked_up(key, itertools.islice(sets, LOOKED_UP))
        else:
            sets = itertools.islice(sets, COMPARED)
        return self._all_fitting(sets, part, earlier)

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
            if verdict == YES and all(other.fits(chosen) == YES for other in earlier):
                yield chosen
            elif verdict != NO:
                yield from self._styled(chosen, part, earlier)

    def _styled(self, chosen: int, part: Part, earlier: Sequence[Part]) -> Iterator[int]:
        """The set with a style that makes it fit, if it fits but for odd places."""
        if any(other.fits(chosen) == NO for other in (part, *earlier)):
            return
        followed: Counter[frozenset[str]] = Counter()
        for style in self.catalogue.styles:
            kind, both = frozenset(style.knobs), chosen | style.bit
            if followed[kind] == STYLES or not self.catalogue.fits(chosen, style):
                continue
            if all(other.fits(both) == YES for other in (part, *earlier)):
                followed[kind] += 1
                yield both


def _first_of_each(parts: Sequence[Part]) -> list[Returned]:
    """The first returned value of each kind of call: enough to see whether an idea shows in such calls."""
    return list({part.kind: part for part in reversed(parts) if isinstance(part, Returned)}.values())[::-1]
