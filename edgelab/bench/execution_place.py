"""Where an evaluation's programs run on the device, with what that takes there."""

from __future__ import annotations

import asyncio
from pathlib import Path

from edgelab.drivers.transport import Transport
from edgelab.drivers.worker_client import CPU
from edgelab.drivers.worker_messages import ExecutionDevice


async def execution_device(backend: str, transport: Transport, cache: Path) -> ExecutionDevice:
    """Return where programs of a backend run behind `transport`; EdgeLab's OpenCL runtime is sent there.

    The runtime is built when it is first asked for (some seconds), and kept in `cache`. Raises `NotReadyError`
    when it cannot be built, and what `Transport.put` raises.
    """
    if backend == "llvm":
        return CPU
    if backend == "cuda":
        return ExecutionDevice(kind="cuda")
    # TVM's import, which finding its headers takes, is not for processes that never run OpenCL.
    from edgelab.kernel.opencl import plugin

    library = await asyncio.to_thread(plugin.library, cache / "opencl")
    return ExecutionDevice(kind="opencl", library=await transport.put(library))
