"""Entry point of `edgelab` and `python -m edgelab`."""

from __future__ import annotations

from edgelab.cli import main

if __name__ == "__main__":
    main()
