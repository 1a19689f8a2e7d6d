"""`python -m edgelab.worker --blobs DIR`: the worker from a checkout, as the archive runs it."""

from __future__ import annotations

import sys

from edgelab.worker.main import main

if __name__ == "__main__":
    sys.exit(main())
