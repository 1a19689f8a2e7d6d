"""How much memory a program may take on a device: a share of what is free when it is loaded."""

from __future__ import annotations

from edgelab.drivers.worker_client import WorkerClient

_SHARE = 0.75
_UNKNOWN_BYTES = 4 << 30


async def memory_limit_bytes(worker: WorkerClient) -> int:
    """Return the limit; 4 GiB where the device does not tell what is free. Raises what `sample` raises."""
    available = (await worker.sample()).memory_available_bytes
    return int(_SHARE * available) if available else _UNKNOWN_BYTES
