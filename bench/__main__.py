"""`make bench`: every figure that the README quotes, each a ratio of two things measured in this one run.

Give names to run only some: python -m bench cold warm gradescope graders intake diagnosis false_alarms
`scale` (10,000 submissions; 1,000 with kills) takes many minutes and runs only when it is named.
"""

from __future__ import annotations

import importlib
import sys

PARTS = ("cold", "warm", "gradescope", "graders", "intake", "diagnosis", "false_alarms")
LONG = ("scale",)


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in (*PARTS, *LONG)]
    if unknown:
        sys.exit(f"No benchmark is called {unknown[0]!r}. There are: {', '.join((*PARTS, *LONG))}.")
    for name in names or PARTS:
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
