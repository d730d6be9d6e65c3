"""What the hidden checks can and can't catch: many implementations whose right mark is known, marked like a class.

Right ones must get everything, the starter nothing, wrong ones less than everything, and each the same on two
seeds. A wrong one that gets everything is a survivor: a hole in the checks, unless `solutions/<name>/equivalent.toml`
lists it with the reason why it is right after all, and its answers bear that out.

Runs trusted code of ours in this process and its forks, through the in-process fake of the sandbox.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import torch

from grader import devices, settings_file, staff
from grader.assignment import Assignment
from grader.auditing.candidates import pairs, singles
from grader.auditing.trials import CheckInfo, Gauge, Outcome, Share, Trials
from grader.errors import AssignmentError, GraderFault
from grader.misconception import Bank
from grader.sandbox import accelerator

LISTED = "equivalent.toml"
HANDOUT = "README.md"
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$|^ {0,3}(\S.*?)[ \t]*\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE
)
"""Of Markdown: after number signs, or underlined."""


@dataclass(frozen=True)
class Margin:
    """How far the answers are from one tolerance: see `Gauge`."""

    check: str
    what: str
    gauge: Gauge


@dataclass(frozen=True)
class Audit:
    """The whole finding. `faults` is empty when all is as it should be."""

    assignment: str
    title: str
    checks: list[CheckInfo]
    outcomes: list[Outcome]
    """All candidates but the pairs that were caught."""
    pairs: int
    """How many pairs were tried."""
    margins: list[Margin]
    listed: dict[str, str]
    """Survivors that are right after all: name -> reason."""
    faults: list[str]

    @property
    def exit_status(self) -> int:
        return 1 if self.faults else 0

    @property
    def survivors(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.survived]

    def caught_by(self, check: str) -> int:
        """How many wrong candidates (pairs aside) the check catches."""
        return sum(check in outcome.failed for outcome in self._wrong())

    def caught_only_by(self, check: str) -> list[str]:
        """The wrong candidates (pairs aside) that no other check catches."""
        return [outcome.name for outcome in self._wrong() if outcome.failed == (check,)]

    def _wrong(self) -> Iterator[Outcome]:
        return (outcome for outcome in self.outcomes if outcome.kind in ("misconception", "cheat", "mutant"))


def audit(assignment: Assignment, *, jobs: int | None = None) -> Audit:
    """Mark every candidate in `jobs` processes (default: the cores that are available).

    Raises AssignmentError when the staff half can't be used, GraderFault when a process dies.
    """
    torch.set_num_threads(1)  # before any fork: the library's threads do not survive one
    accelerator.install()
    loaded = staff.load(assignment)
    listed = read_listed(assignment)
    one, two = singles(assignment, loaded), list(pairs(loaded.bank))
    count = min(jobs or devices.cores(), len(one))

    def first(number: int) -> Share:
        return Trials(assignment, loaded, one[number::count]).run()

    shares = _in_forks(first, count)
    known = {outcome.name: outcome.failed for part in shares for outcome in part.outcomes}

    def second(number: int) -> Share:
        return Trials(assignment, loaded, two[number::count], known).run()

    if two:
        shares += _in_forks(second, count)
    order = {candidate.name: index for index, candidate in enumerate((*one, *two))}
    outcomes = sorted((o for part in shares for o in part.outcomes), key=lambda outcome: order[outcome.name])
    checks = shares[0].checks
    return Audit(
        assignment=assignment.name,
        title=assignment.settings.title,
        checks=checks,
        outcomes=outcomes,
        pairs=len(two),
        margins=_margins(checks, shares),
        listed=listed,
        faults=faults(outcomes, checks, listed) + misdirected(assignment, loaded.bank),
    )


def read_listed(assignment: Assignment) -> dict[str, str]:
    """`equivalent.toml`: name -> reason. Raises AssignmentError naming the entry that is not that."""
    path = assignment.staff / LISTED
    if not path.is_file():
        return {}
    table = settings_file.parsed(path)
    for name, reason in table.items():
        if not isinstance(reason, str) or not reason.strip():
            raise AssignmentError(f'{path}: {name}: expected "name" = "the reason why it is right after all".')
    return table


def faults(outcomes: Sequence[Outcome], checks: Sequence[CheckInfo], listed: dict[str, str]) -> list[str]:
    """Everything that must not be, in words."""
    paid = {check.id for check in checks if check.worth}
    found = [fault for outcome in outcomes for fault in _faults_of(outcome, paid, listed)]
    survivors = {outcome.name for outcome in outcomes if outcome.survived}
    stale = [name for name in listed if name not in survivors]
    return found + [f"{name}: listed in {LISTED}, but does not get full marks; remove it" for name in stale]


def misdirected(assignment: Assignment, bank: Bank | None) -> list[str]:
    """Misconceptions that send students to a section which the handout does not have, in words."""
    handout = assignment.public / HANDOUT
    if bank is None or not handout.is_file():
        return []
    text = handout.read_text(encoding="utf-8-sig", errors="replace")
    headings = {after or underlined for after, underlined in _HEADING.findall(text)}
    return [
        f"{idea.id}: {handout} has no heading {idea.section!r}"
        for idea in bank.misconceptions
        if idea.section and idea.section not in headings
    ]


def _faults_of(outcome: Outcome, paid: set[str], listed: dict[str, str]) -> Iterator[str]:
    name, failed = outcome.name, ", ".join(outcome.failed)
    if outcome.broken:
        yield f"{name}: a check gave no verdict: {outcome.broken[0]}"
    if outcome.slip:
        yield f"{name}: can never be named: its own implementation in misconceptions.py stops with {outcome.slip}"
    if outcome.unnamed:
        yield (
            f"{name}: can't be named: when a function that holds it is diagnosed, {outcome.unnamed} is said instead; "
            "give the bank probes on which it shows"
        )
    if outcome.unsteady:
        yield f"{name}: another seed gives another verdict in {', '.join(outcome.unsteady)}"
    if outcome.kind == "right" and set(outcome.failed) != set(outcome.loses):
        meant = ", ".join(outcome.loses)
        yield f"{name}: right, but fails {failed or 'nothing'}" + (f" where it should fail {meant}" if meant else "")
    if outcome.kind == "starter" and paid - set(outcome.failed):
        yield f"{name}: gets points for {', '.join(sorted(paid - set(outcome.failed)))}"
    if outcome.survived and name not in listed:
        yield f"{name}: wrong, but gets full marks ({outcome.likeness})"
    if outcome.survived and name in listed and not outcome.alike:
        yield f"{name}: listed as right after all, but its answers are not ({outcome.likeness})"


def _margins(checks: Sequence[CheckInfo], shares: Sequence[Share]) -> list[Margin]:
    merged: dict[tuple[str, str], Gauge] = {}
    for part in shares:
        for key, gauge in part.gauges.items():
            merged[key] = merged.get(key, Gauge()).with_(gauge)
    position = {check.id: index for index, check in enumerate(checks)}
    keys = sorted(merged, key=lambda key: (position[key[0]], key[1]))
    return [Margin(check, what, merged[check, what]) for check, what in keys]


def _in_forks(share: Callable[[int], Share], count: int) -> list[Share]:
    """`share(0)` to `share(count - 1)`, each in a fork of this process, which holds everything already."""
    if count == 1 or "fork" not in multiprocessing.get_all_start_methods():
        return [share(number) for number in range(count)]
    context = multiprocessing.get_context("fork")

    def run(number: int, pipe: Connection) -> None:
        try:
            pipe.send(share(number))
        except BaseException as error:
            pipe.send(error)

    running = []
    for number in range(count):
        receiver, sender = context.Pipe(duplex=False)
        worker = context.Process(target=run, args=(number, sender), daemon=True)
        worker.start()
        sender.close()
        running.append((receiver, worker))
    try:
        return [_received(receiver) for receiver, _ in running]
    finally:
        for _, worker in running:  # where one failed, the others would go on after this process has ended
            worker.terminate()
            worker.join()


def _received(receiver: Connection) -> Share:
    try:
        got: Share | BaseException = receiver.recv()
    except EOFError:
        raise GraderFault("A process of the audit died before it could report.") from None
    if isinstance(got, BaseException):
        raise got
    return got
