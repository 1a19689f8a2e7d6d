"""Somebody else's lease of a simulated board: the lock on its lock file, held for as long as that fault is on."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import msgspec

from edgelab.drivers.device_state import LeaseHolder


class HeldLease:
    """Takes and drops the lease at `path` as the fault wants it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._owner = ""

    def follow(self, owner: str) -> None:
        """Hold the lease for `owner`, or for nobody when that is empty. One that is held by a real holder stays."""
        if owner == self._owner:
            return
        self.drop()
        if not owner:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return
        holder = LeaseHolder(owner=owner, purpose="run 261130-other", pid=4242, since_s=time.time())
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(holder) + b"\n", 0)
        self._descriptor, self._owner = descriptor, owner

    def drop(self) -> None:
        """Give the lease back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._owner = None, ""
