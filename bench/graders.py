"""One more submission in a warm batch, everything on, against other graders with the classic four checks."""

from __future__ import annotations

import subprocess
import tempfile
from importlib.metadata import version as installed
from pathlib import Path

from bench.measure import grade, handed_in, machine, numbered, own_numbers, right_answer, say
from bench.rivals import environment
from bench.rivals.environment import Environment
from bench.rivals.ways import RIVALS, Way

ROUNDS = 3
FEW, MORE = 100, 200
NAMES = ("right work", "right work whose numbers nobody had before", "wrong work and its diagnosis")


def main() -> None:
    """Print the figures of this run: the least of several rounds, in turns, as whatever else runs here only adds."""
    print(f"\nOne submission against other graders, on one core ({machine()})")
    with environment.adopting_orphans(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)  # student code runs as a user of its own
        right = right_answer()
        ours = [
            ours_for(folder / "right", numbered(right, FEW + MORE)),
            ours_for(folder / "new", own_numbers(right, FEW + MORE)),
            ours_for(folder / "wrong", numbered(wrong_answer(right), FEW + MORE)),
        ]
        rivals = environment.find(folder)
        found = {name: ready(rivals, name, folder, right) for name in RIVALS}
        costs = measure([*ours, *(way for ways in found.values() for way in ways)])
    own = [costs[way] for way in ours]
    for name, one in zip(NAMES, own, strict=True):
        say(f"this grader, everything on, {name}, CPU ms", f"{one * 1e3:.1f}")
    for ways in found.values():
        for way in ways:
            say(f"{way.title}, CPU ms", f"{costs[way] * 1e3:.0f}")
            times = " / ".join(f"{costs[way] / one:.1f}" for one in own)
            say(
                "    times this grader's: right / new numbers / wrong",
                times,
                f"goal: at least {way.goal}" * bool(way.goal),
            )
    if not all(found.values()):
        print(environment.HOW)


def ours_for(folder: Path, sources: list[str]) -> Way:
    """This grader over a class: all checks, confinement, diagnosis, reports."""
    handed_in(folder / "few", sources[:FEW])
    handed_in(folder / "many", sources)
    return Way("this grader", grade(folder / "many"), grade(folder / "few"), MORE)


def wrong_answer(right: str) -> str:
    """The most common mistake: the scores are not scaled."""
    wrong = right.replace(" / math.sqrt(Q.size(-1))", "")
    if wrong == right:
        raise RuntimeError("The reference is written in another way: bench/graders.py must find its scaling again.")
    return wrong


def ready(rivals: Environment | None, name: str, folder: Path, right: str) -> list[Way]:
    """The rival's ways, tried out once; none, with a line that says why, where it is missing or fails."""
    version = rivals and rivals.versions.get(name)
    if not rivals or not version:
        say(name, "not installed")
        return []
    try:
        ways = RIVALS[name](rivals, folder / name, right)
    except (subprocess.CalledProcessError, RuntimeError) as problem:
        say(f"{name} {version}", "did not work", str(problem))
        print(getattr(problem, "stderr", b"").decode(errors="replace"))
        return []
    theirs = rivals.versions.get("torch")
    if theirs != installed("torch"):
        say(f"{name} {version}", "other torch", f"{theirs}; this grader's is {installed('torch')}")
    return [Way(f"{name} {version}: {way.title}", way.many, way.few, way.more, way.goal) for way in ways]


def measure(ways: list[Way]) -> dict[Way, float]:
    """CPU seconds of one submission for each way."""
    spent: dict[tuple[str, ...], list[float]] = {}
    for _ in range(ROUNDS):
        for way in ways:
            for command in filter(None, (way.few, way.many)):
                spent.setdefault(command, []).append(environment.spent(command))
    least = {command: min(seconds) for command, seconds in spent.items()}
    return {way: (least[way.many] - (least[way.few] if way.few else 0)) / way.more for way in ways}


if __name__ == "__main__":
    main()
