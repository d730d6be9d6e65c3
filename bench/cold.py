"""One submission from nothing to written results, against a bare `import torch`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.measure import IMPORT_TORCH, copies, cost, grade, machine, right_answer, say


def main() -> None:
    """Print the two costs and their ratio."""
    print(f"\nOne cold submission ({machine()})")
    with tempfile.TemporaryDirectory() as name:
        copies(Path(name) / "class", right_answer(), 1)
        torch = cost(IMPORT_TORCH, repeats=5, core=0)
        whole = cost(grade(Path(name) / "class"), repeats=5, core=0)
    say("import torch, CPU s / wall s", f"{torch.cpu:.2f} / {torch.wall:.2f}")
    say("grade one submission, all checks and reports, CPU s / wall s", f"{whole.cpu:.2f} / {whole.wall:.2f}")
    say("ratio of CPU", f"{whole.cpu / torch.cpu:.2f}", "goal: at most 1.5")
    say("ratio of wall time", f"{whole.wall / torch.wall:.2f}", "goal: at most 1.5")


if __name__ == "__main__":
    main()
