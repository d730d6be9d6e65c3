"""One submission on Gradescope, from run_autograder to results.json: wall time against `import torch`, and memory."""

from __future__ import annotations

import json
import os
import resource
import statistics
import tempfile
from pathlib import Path

from bench.measure import IMPORT_TORCH, ROOT, copies, cost, machine, right_answer, say
from grader.gradescope import build, harness
from grader.gradescope.harness import Ran
from grader.gradescope.tree import Tree

REPEATS = 5
MOST_MB = 600


def main() -> None:
    """Print the figures of this run."""
    print(f"\nOne submission on Gradescope ({machine()})")
    torch = cost(IMPORT_TORCH, repeats=REPEATS, core=0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        copies(folder / "class", right_answer(), 1)
        right = runs(folder, next((folder / "class").iterdir()), REPEATS)
        wrong = runs(folder, ROOT / "solutions" / "attention" / "sample_class" / "jonas_abara", 1)
    wall = statistics.median(ran.seconds for ran, _ in right)
    cpu = statistics.median(used for _, used in right)
    say("import torch, CPU s / wall s on one core", f"{torch.cpu:.2f} / {torch.wall:.2f}")
    say("run_autograder, right work, CPU s / wall s on the same core", f"{cpu:.2f} / {wall:.2f}")
    say("ratio of CPU", f"{cpu / torch.cpu:.2f}", "goal: at most 1.5")
    say("ratio of wall time", f"{wall / torch.wall:.2f}", "goal: at most 1.5")
    say(
        "peak memory of all processes, right work, MB",
        f"{max(ran.peak_mb for ran, _ in right):.0f}",
        f"goal: {MOST_MB}",
    )
    say("peak memory of all processes, with a diagnosis, MB", f"{wrong[0][0].peak_mb:.0f}", f"goal: {MOST_MB}")


def runs(folder: Path, submission: Path, repeats: int) -> list[tuple[Ran, float]]:
    """So many runs of the zip on the submission, each on one core, with the CPU seconds that it took.

    Raises RuntimeError when one writes no results.
    """
    tree = Tree(folder / "autograder")
    if not tree.root.exists():
        build.build(ROOT, "attention", output=folder / "autograder.zip")
        harness.unpack(folder / "autograder.zip", tree)
        harness.set_up(tree)
    python = tree.root / "venv" / "bin" / "python"
    os.sched_setaffinity(0, {0})
    done = []
    for _ in range(repeats):
        harness.lay_out(tree, submission, {})
        before = children()
        ran = harness.start(tree, python, 600)
        if "tests" not in json.loads(ran.raw or b"{}") or ran.exit_status:
            raise RuntimeError(ran.stdout)
        done.append((ran, children() - before))
    return done


def children() -> float:
    """CPU seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
