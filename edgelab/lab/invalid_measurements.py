"""Marks measurements that do not count any more in a data folder that may not have any yet."""

from __future__ import annotations

from edgelab.home import Home
from edgelab.store.writer import StoreWriter


def invalidate(home: Home, device: str, since_s: float) -> int:
    """Mark the measurements of `device` since `since_s` (epoch seconds) invalid; returns how many there were.

    Raises `NotReadyError` when the store cannot be written.
    """
    if not home.database.exists():
        return 0
    with StoreWriter(home.database) as writer:
        return writer.invalidate_measurements(device, since_s)
