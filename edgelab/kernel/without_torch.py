"""Importing this keeps torch out of the process: tvm_ffi imports it where it is installed.

That would double the time to start and the memory. Import it before anything that imports tvm.
"""

from __future__ import annotations

import sys

sys.modules["torch"] = None  # type: ignore[assignment]
