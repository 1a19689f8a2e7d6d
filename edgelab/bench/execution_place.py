"""Where an evaluation's programs run on the device, with what that takes there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgelab.drivers.transport import Transport
from edgelab.drivers.worker_client import CPU
from edgelab.drivers.worker_messages import ExecutionDevice


async def execution_device(
    backend: str, transport: Transport, cache: Path, target: Mapping[str, Any] | None = None
) -> ExecutionDevice:
    """Return where programs of a backend run behind `transport`; EdgeLab's OpenCL runtime is sent there.

    The runtime is built when it is first asked for (some seconds), for the host of `target` (this machine where it
    names none), and kept in `cache`. Raises `NotReadyError`
    when it cannot be built, and what `Transport.put` raises.
    """
    if backend == "llvm":
        return CPU
    if backend == "cuda":
        return ExecutionDevice(kind="cuda")
    # TVM's import, which finding its headers takes, is not for processes that never run OpenCL.
    from edgelab.kernel.opencl import plugin

    triple = str(((target or {}).get("host") or {}).get("mtriple", ""))
    machine = triple.partition("-")[0]
    library = await asyncio.to_thread(plugin.library, cache / "opencl", machine=machine)
    return ExecutionDevice(kind="opencl", library=await transport.put(library))
