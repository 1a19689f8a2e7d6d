"""EdgeLab's own OpenCL runtime for the stock TVM wheel, which can compile for OpenCL but not run it."""

from __future__ import annotations
