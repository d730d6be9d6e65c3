"""`grader doctor`: what this machine can do for a run, found out by trying, and how to get what is missing."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import torch

import grader
from grader import arena, devices
from grader.errors import SandboxError, UsageError
from grader.ground import let_try
from grader.sandbox import canary
from grader.sandbox.machine import LAYERS
from grader.sandbox.zygote import Zygote

_MEANING = {
    "A": "every layer is there, and no attack got through",
    "B": "one layer is missing; `grader grade` works, and results say so",
    "C": "student code is not confined enough; `grader grade` refuses unless it is told --insecure",
}


@dataclass(frozen=True)
class Health:
    """What the doctor found: lines to print, and whether grading can be trusted here."""

    lines: tuple[str, ...]
    sound: bool


def report(root: Path) -> Health:
    """Try real attacks and honest work in a confined process, and describe the machine. `root`: the course folder."""
    zygote = arena.start_zygote()
    try:
        verdict = canary.try_out(lambda targets: let_try(zygote, targets))
    except SandboxError as error:
        return Health((f"Sandbox: does not start. {error}", *_machine()), sound=False)
    finally:
        zygote.close()
    lines = (*sandbox_lines(verdict), "", *_secrets(root, verdict), *_machine())
    return Health(lines, sound=verdict.level != "C")


def sandbox_lines(verdict: canary.Verdict) -> Iterable[str]:
    """The verdict in words: level, layers, what was tried, what is missing and how to get it."""
    meaning = "honest work does not go well, so nothing is proven" if verdict.broken else _MEANING[verdict.level]
    yield f"Sandbox: level {verdict.level} - {meaning}."
    yield f"  layers: {', '.join(verdict.layers) or 'none'}"
    attacks, controls = len(canary.attacks()), len(canary.controls())
    yield f"  attacks tried: {attacks}, stopped: {attacks - len(verdict.got)}"
    yield f"  honest work tried: {controls}, went well: {controls - len(verdict.broken)}"
    for name in verdict.got:
        leak = ", ALTHOUGH A LAYER SHOULD STOP IT" if name in verdict.unexpected else ""
        yield f"  succeeded: {name}{leak}"
    for name in verdict.broken:
        yield f"  does not work: {name}"
    for gap in verdict.missing:
        yield f"  missing: {gap.layer}, because {gap.reason}. To get it: {gap.mend}."
    for note in verdict.notes:
        yield f"  note: {note}"


def _secrets(root: Path, verdict: canary.Verdict) -> Iterable[str]:
    """Whether something that students must not read could be read by other users of this machine."""
    for name in ("solutions", "runs"):
        folder = root / name
        if folder.is_dir() and folder.stat().st_mode & 0o077:
            need = "" if "landlock" in verdict.layers else " Without Landlock this matters."
            yield f"{folder} can be entered by other users of this machine. To close it: chmod 700 {folder}{need}"


def _machine() -> Iterable[str]:
    yield f"Grader {grader.__version__}, PyTorch {torch.__version__}"
    yield f"Python {platform.python_version()} in {sys.prefix}"
    found = devices.detect()
    yield f"GPU checks run on: {found.label}" + (f" ({found.reason})" if found.reason else "")
    gigabytes = os.sysconf("SC_PHYS_PAGES") * resource.getpagesize() >> 30
    system = f"{platform.system()} {platform.release()} on {platform.machine()}"
    yield f"{system}, {devices.cores()} cores, {gigabytes} GB"


# --- the matrix: what each layer buys ---


def matrix() -> list[str]:
    """A table of every set of layers against every attack of the corpus: `x` got something, `.` got nothing.

    Takes some seconds: each attack really runs, each time in a process of its own. Raises UsageError where the
    corpus is not there.
    """
    attacks = arena.attacks("system")
    if not attacks:
        raise UsageError(f"There are no attacks in {arena.CORPUS}: the matrix needs a checkout of the grader's source.")
    zygote = arena.start_zygote()
    try:
        sets = _sets(_available(zygote))
        with arena.World() as world:
            table = {
                attack.path.stem: [arena.attempt(zygote, world, attack, chosen).got for chosen in sets]
                for attack in attacks
            }
            works = [_honest(zygote, chosen) for chosen in sets]
    finally:
        zygote.close()
    return list(drawn(sets, table, works))


def _available(zygote: Zygote) -> tuple[str, ...]:
    return canary.try_out(lambda targets: let_try(zygote, targets)).layers


def _sets(available: tuple[str, ...]) -> list[frozenset[str]]:
    """Every set of the layers that this machine has; the limits belong to all of them but the empty one."""
    walls = [layer for layer in LAYERS if layer in available and layer != "rlimits"]
    chosen = [frozenset(some) for size in range(len(walls) + 1) for some in combinations(walls, size)]
    return [frozenset(), *(some | {"rlimits"} for some in chosen if some)]


def _honest(zygote: Zygote, layers: frozenset[str]) -> bool:
    """The control of a column: whether an honest submission still gets its answer."""
    source = "import torch\n\ndef attack(world):\n    return torch.softmax(torch.zeros(2), -1).tolist()\n"
    session = arena.open_source(zygote, source, layers=layers)
    try:
        return bool(session.call(({},), {}).output == [0.5, 0.5])
    finally:
        session.close()


def drawn(sets: list[frozenset[str]], table: dict[str, list[bool]], works: list[bool]) -> Iterable[str]:
    """The matrix as lines of text: a row an attack, a column a set of layers, and whether honest work goes well."""
    names = [[layer for layer in LAYERS if layer in chosen and layer != "rlimits"] for chosen in sets]
    width = max(map(len, table))
    yield "Which attacks still get something with which layers (x: it does). Limits are on in all but the first column."
    for row in range(max(map(len, names))):
        heads = (name[row] if row < len(name) else "" for name in (each or ["none"] for each in names))
        yield " " * width + "".join(f"{head:>10}" for head in heads)
    for attack, outcomes in table.items():
        yield f"{attack:<{width}}" + "".join(f"{'x' if got else '.':>10}" for got in outcomes)
    totals = [sum(outcomes[column] for outcomes in table.values()) for column in range(len(sets))]
    yield f"{f'got something, of {len(table)}':<{width}}" + "".join(f"{total:>10}" for total in totals)
    yield f"{'honest work goes well':<{width}}" + "".join(f"{'yes' if well else 'NO':>10}" for well in works)
    if not all(works):
        yield "Where honest work does not go well, a blocked attack shows nothing."
