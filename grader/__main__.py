"""`grader` and `python -m grader`."""

from __future__ import annotations

import sys

from grader.errors import GraderError


def main() -> None:
    """Run the command line; every error of ours becomes one message and its exit status."""
    try:
        from grader.cli import cli

        cli(standalone_mode=True)
    except GraderError as error:
        print(f"grader: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        print("grader: Stopped.", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
