"""Files of a simulated board over SFTP: relative paths are the login folder's, absolute ones the board's own."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import asyncssh

from edgelab.drivers.simulated import faults as fault_file
from edgelab.drivers.simulated.environment import HOME
from edgelab.drivers.simulated.link_faults import Pace


class BoardFiles(asyncssh.SFTPServer):
    """Serves one channel. A full disk takes nothing."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], tree: Path, pace: Pace) -> None:
        super().__init__(channel)
        self._home = tree / HOME
        self._tree = tree
        self._pace = pace

    def map_path(self, path: bytes) -> bytes:
        """Return where a path of the protocol lies on this machine; the protocol's root is the login folder."""
        return os.fsencode(self._home / os.fsdecode(path.lstrip(b"/")))

    def reverse_map_path(self, path: bytes) -> bytes:
        """Return what a path of this machine is called over the protocol."""
        return path.removeprefix(os.fsencode(self._home)) or b"/"

    async def write(self, file_obj: object, offset: int, data: bytes) -> int:
        """Write at the link's pace, unless the disk is full."""
        faults = fault_file.read(self._tree)
        if faults.free_disk_kib == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        await self._pace.pass_on(len(data), faults.bytes_per_s)
        written = super().write(file_obj, offset, data)
        assert isinstance(written, int)
        return written
