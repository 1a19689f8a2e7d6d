"""Entry point of `edgelab` and `python -m edgelab`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; ctrl-c while it is still being loaded is an interruption like any other."""
    try:
        from edgelab.cli import main as run
    except KeyboardInterrupt:
        sys.exit(4)
    run()


if __name__ == "__main__":
    main()
