"""The process that serves the simulated boards of one data folder: `python -m … FOLDER LOCK`.

One a folder: whoever starts it hands over a descriptor that holds the folder's lock. It ends by itself when
nobody was connected for some minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from edgelab.drivers.simulated.keys import key, known_host_line
from edgelab.drivers.simulated.launcher import BoardPlace, Served, boards_file, requests_folder
from edgelab.drivers.simulated.models import MODELS
from edgelab.drivers.simulated.server import USER, BoardServer
from edgelab.drivers.simulated.tree import create

IDLE_LIMIT_S = 600.0
_POLL_S = 0.1


class Lab:
    """All boards of one folder. A file `requests/NAME` holds the profile of a board that is wanted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._host_key, self._client_key = key(folder / "host_key"), key(folder / "client_key")
        self._servers: dict[str, BoardServer] = {}

    async def run(self, idle_limit_s: float = IDLE_LIMIT_S) -> None:
        """Serve what is asked for until nobody was connected for `idle_limit_s` seconds."""
        used_s = time.monotonic()
        try:
            while time.monotonic() - used_s < idle_limit_s:
                if await self._serve_requests() or any(board.connections for board in self._servers.values()):
                    used_s = time.monotonic()
                await asyncio.sleep(_POLL_S)
        finally:
            boards_file(self._folder).unlink(missing_ok=True)
            for server in self._servers.values():
                await server.close()

    async def _serve_requests(self) -> bool:
        new = False
        for request in sorted(requests_folder(self._folder).iterdir()):
            if request.name in self._servers or (profile := request.read_text().strip()) not in MODELS:
                continue
            tree = self._folder / "boards" / request.name
            await asyncio.to_thread(create, tree, profile)
            server = BoardServer(tree, self._host_key, self._client_key)
            await server.start()
            self._servers[request.name] = server
            new = True
        if new:
            self._announce()
        return new

    def _announce(self) -> None:
        known_hosts = self._folder / "known_hosts"
        lines = [known_host_line(server.port, self._host_key) for server in self._servers.values()]
        _replace(known_hosts, b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines))
        places = {
            name: BoardPlace(
                host="127.0.0.1",
                port=server.port,
                user=USER,
                key=str(self._folder / "client_key"),
                known_hosts=str(known_hosts),
                root=str(server.tree),
            )
            for name, server in self._servers.items()
        }
        _replace(boards_file(self._folder), msgspec.json.encode(Served(pid=os.getpid(), boards=places)))


def _replace(path: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    Path(name).replace(path)


async def _until_signalled(folder: Path) -> None:
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await Lab(folder).run()


def main(folder: str, lock: str) -> int:
    """Serve the boards of `folder` while descriptor `lock` is held; returns the exit status."""
    os.set_inheritable(int(lock), False)
    requests_folder(Path(folder)).mkdir(parents=True, exist_ok=True)
    asyncio.run(_until_signalled(Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
