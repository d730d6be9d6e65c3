"""Every value of the implementation under any set of wrong ideas, for one list of arguments.

A set is a whole number: bit i stands for item i of the catalogue. A row holds the value of each step under one set,
computed when it is asked for. A step runs once for the same settings and inputs, so sets that differ late share all
that comes before; and where many sets are tried, an item that makes no difference to a step, bit for bit, leaves its
value the one there was, so that all that comes after is shared as well.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from grader.diagnosis.catalogue import DEVICE, EMPTY, SEEN, Catalogue, Plan
from grader.diagnosis.node import Node
from grader.diagnosis.table import Table

KEPT = 20_000
"""Values of further questions that are kept from one submission to the next."""


Row = list[Any]
"""A Node for each value, None where it is not computed yet."""
Memo = dict[tuple[Any, ...], Node]


class Values:
    """What the steps compute for these arguments."""

    def __init__(
        self, catalogue: Catalogue, arguments: Mapping[str, Any], device: str, seen: Mapping[str, Tensor]
    ) -> None:
        self.catalogue, self.arguments, self.seen = catalogue, arguments, seen
        self.tables: dict[tuple[Any, ...], Table] | None = None
        """Where the values are kept from one submission to the next: the answers of many sets, side by side."""
        self.sharing = False
        """Whether values are compared with those without an item, which pays when many sets are tried here."""
        given = {**arguments, DEVICE: device, SEEN: seen, EMPTY: {}}
        self._comparing = True
        first: Row = [Node(value) for value in given.values()]
        self._base: Row = first + [None] * len(catalogue.plans)
        self._rows: dict[int, Row] = {0: self._base}
        self._common = self._rows
        """Rows of the sets that do not look at the student's answer."""
        self._made: Memo = {}

    def share(self) -> None:
        """Many sets will be tried here: let those share values that come out the same."""
        if not self.sharing:
            self.sharing = True
            base = self._base
            self._rows.clear()
            self._rows[0] = base
            self._made.clear()
            base[self.catalogue.given :] = [None] * len(self.catalogue.plans)

    def adopt(self, other: Values) -> None:
        """Take over all values that do not depend on the answer, and let the other know those found here."""
        other.share()
        if len(other._made) > KEPT:
            other.sharing = False
            other.share()
        seen = self.catalogue.slots[SEEN]
        answer = self._base[seen]
        self._base = other._base.copy()
        self._base[seen] = answer
        if other.tables is None:
            other.tables = {}
        self.tables = other.tables
        self.sharing, self._made, self._common, self._rows = True, other._made, other._rows, {0: self._base}

    @contextlib.contextmanager
    def passing(self) -> Iterator[None]:
        """What is computed meanwhile for further sets is not kept, and so need not be compared."""
        self.share()
        rows, made, self._comparing = self._common.copy(), self._made.copy(), False
        try:
            yield
        finally:
            self._comparing = True
            self._common.clear()
            self._common.update(rows)
            self._made.clear()
            self._made.update(made)

    def node(self, name: str, chosen: int) -> Node:
        """The value of step `name` under the set."""
        row = self._row(chosen)
        found: Node | None = row[self.catalogue.slots[name]]
        return found or self._filled(name, chosen, row)

    def _row(self, chosen: int) -> Row:
        """The values under the set that are known so far."""
        rows = self._rows if chosen & self.catalogue.drawn else self._common
        row = rows.get(chosen)
        if row is None:
            row = rows[chosen] = self._base[: self.catalogue.given] + [None] * len(self.catalogue.plans)
        return row

    def _filled(self, name: str, chosen: int, row: Row) -> Node:
        """Compute the step and all that it needs. Where many sets are tried, only what differs from a set with one
        item less: without the one that acts last, unless a set without another one is known already."""
        path, bit, less = self.catalogue.paths[name], 0, self._base
        if self.sharing and chosen:
            slot, rest, bit = path[-1].slot, chosen, chosen & -chosen
            while rest:
                other = rest & -rest
                if self._row(chosen ^ other)[slot] is not None:
                    bit = other
                    break
                rest ^= other
            less = self._row(chosen ^ bit)
            if less[slot] is None:
                self._filled(name, chosen ^ bit, less)
        differs = 0
        for plan in path:
            slot = plan.slot
            node = row[slot]
            if node is None:
                if bit and not plan.direct & bit and not plan.needs & differs:
                    node = less[slot]
                else:
                    node = self._step(plan, chosen & plan.direct, row)
                row[slot] = node
            if node is not less[slot]:
                differs |= 1 << slot
        return row[path[-1].slot]  # type: ignore[no-any-return]  # of a row

    def _step(self, plan: Plan, direct: int, row: Row) -> Node:
        """The step under the items that touch it; a row knows what it needs."""
        if not direct and plan.passed is not None:
            return row[plan.passed]  # type: ignore[no-any-return]  # of a row
        reads = plan.reads_answer if direct & plan.drawn else plan.reads
        return self._stepped(plan, direct, [row[slot] for slot in reads])

    def _stepped(self, plan: Plan, direct: int, inputs: list[Node]) -> Node:
        """The step under the items that touch it, once for these inputs."""
        key = plan.slot, direct, *inputs
        node = self._made.get(key)
        if node is None:
            node = self._run(plan, direct, inputs)
            if self.sharing and self._comparing and node.error is None:
                node = self._shortest(plan, direct, inputs, node)
            self._made[key] = node
        return node

    def _run(self, plan: Plan, direct: int, inputs: list[Node]) -> Node:
        failed = [node for node in inputs if node.error is not None]
        if failed:
            return min(failed, key=lambda node: node.slot)
        try:
            value = plan.step.function(*[node.value for node in inputs], **self.catalogue.knobs(plan, direct))
            return Node(value, plan.slot)
        except Exception as error:
            return Node(None, plan.slot, error.with_traceback(None))

    def _shortest(self, plan: Plan, direct: int, inputs: list[Node], node: Node) -> Node:
        """The node without an item that idles here, if there is one."""
        while direct:
            less = direct & ~(direct & -direct)
            if not less and plan.passed is not None:
                other = inputs[plan.reads.index(plan.passed)]
            else:
                other = self._stepped(plan, less, inputs)
            if other.equals(node.value):
                return other
            direct &= direct - 1
        return node
