"""One submission on Gradescope, from run_autograder to results.json: wall time against `import torch`, and memory."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import tempfile
from pathlib import Path

from bench.measure import IMPORT_TORCH, ROOT, Cost, copies, cost, machine, right_answer, say
from grader.places.gradescope import build, harness
from grader.places.gradescope.tree import Tree

REPEATS = 5


def main() -> None:
    """Print the figures of this run. The least of several, taken in turns: whatever else runs here only adds."""
    print(f"\nOne submission on Gradescope ({machine()})")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        service = image(folder)
        os.sched_setaffinity(0, {0})
        copies(folder / "class", right_answer(), 1)
        imports: list[Cost] = []
        runs: list[tuple[Cost, float]] = []
        for _ in range(REPEATS):
            imports.append(cost(IMPORT_TORCH, core=0))
            runs.append(run(*service, next((folder / "class").iterdir())))
        _, diagnosed = run(*service, ROOT / "solutions" / "attention" / "sample_class" / "jonas_abara")
    torch = Cost(min(one.cpu for one in imports), min(one.wall for one in imports))
    whole = Cost(min(one.cpu for one, _ in runs), min(one.wall for one, _ in runs))
    say("import torch, CPU s / wall s on one core", f"{torch.cpu:.2f} / {torch.wall:.2f}")
    say("run_autograder, right work, CPU s / wall s on the same core", f"{whole.cpu:.2f} / {whole.wall:.2f}")
    say("ratio of CPU", f"{whole.cpu / torch.cpu:.2f}", "goal: at most 1.5")
    say("ratio of wall time", f"{whole.wall / torch.wall:.2f}", "goal: at most 1.5")
    say("peak memory of all processes, right work, MB", f"{max(peak for _, peak in runs):.0f}", "goal: at most 600")
    say("peak memory of all processes, with a diagnosis, MB", f"{diagnosed:.0f}", "goal: at most 600")


def image(folder: Path) -> tuple[Tree, Path]:
    """What Gradescope builds from the zip, and its interpreter."""
    tree = Tree(folder / "autograder")
    with contextlib.redirect_stdout(io.StringIO()):
        build.build(ROOT, "attention", output=folder / "autograder.zip")
    harness.unpack(folder / "autograder.zip", tree)
    return tree, harness.set_up(tree)


def run(tree: Tree, python: Path, submission: Path) -> tuple[Cost, float]:
    """What one run costs, and its peak memory in MB. Raises RuntimeError when it writes no results."""
    harness.lay_out(tree, submission, {})
    before = children()
    ran = harness.start(tree, python, 600)
    if "tests" not in json.loads(ran.raw or b"{}") or ran.exit_status:
        raise RuntimeError(ran.stdout)
    return Cost(children() - before, ran.seconds), ran.peak_mb


def children() -> float:
    """CPU seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
