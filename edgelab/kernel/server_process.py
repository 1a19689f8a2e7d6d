"""Starts a server that has TVM loaded and forks: messages on its standard streams, a group of its own."""

from __future__ import annotations

import asyncio
import os
import sys


async def start_server(module: str, line_limit_bytes: int) -> asyncio.subprocess.Process:
    """Start `python -m module`; its reader takes lines of up to `line_limit_bytes`. Raises OSError."""
    # Thread pools of numpy's BLAS and of OpenMP would not survive the server's forks.
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, **one_thread},
        limit=line_limit_bytes,
    )
