"""The process that serves the simulated boards of one data folder: `python -m … FOLDER [LOCK]`.

One a folder: it holds the folder's lock, which whoever starts it hands over as descriptor LOCK. With that it
goes into the background once it is loaded. It ends by itself when nobody was connected for some minutes, when
its folder is gone, and at SIGTERM.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from edgelab.drivers.simulated.keys import key, known_host_line
from edgelab.drivers.simulated.launcher import BoardPlace, Served, boards_file, requests_folder, try_lock
from edgelab.drivers.simulated.leftovers import Afterwards
from edgelab.drivers.simulated.models import MODELS
from edgelab.drivers.simulated.server import USER, BoardServer
from edgelab.drivers.simulated.tree import create

IDLE_LIMIT_S = 600.0
_POLL_S = 0.1

_log = logging.getLogger("edgelab.simulated")


class Lab:
    """All boards of one folder. A file `requests/NAME` holds the profile of a board that is wanted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._host_key, self._client_key = key(folder / "host_key"), key(folder / "client_key")
        self._servers: dict[str, BoardServer] = {}
        self._power = secrets.token_hex(8)

    async def run(self, idle_limit_s: float = IDLE_LIMIT_S) -> None:
        """Serve what is asked for until nobody was connected for `idle_limit_s` seconds."""
        afterwards = Afterwards(f"{self._power}.")
        try:
            async with contextlib.AsyncExitStack() as stack:
                stack.callback(boards_file(self._folder).unlink, missing_ok=True)
                await self._serve_while_used(stack, idle_limit_s)
        except FileNotFoundError as error:
            # Whoever threw the folder away wants no boards any more.
            if requests_folder(self._folder).exists():
                raise
            _log.info("%s is gone", error.filename)
        finally:
            await asyncio.to_thread(afterwards.close)

    async def _serve_while_used(self, stack: contextlib.AsyncExitStack, idle_limit_s: float) -> None:
        used_s = time.monotonic()
        while time.monotonic() - used_s < idle_limit_s:
            new = await self._serve_requests(stack)
            if new or any(board.connections for board in self._servers.values()):
                used_s = time.monotonic()
            await asyncio.sleep(_POLL_S)
        _log.info("nobody was connected for %g s", idle_limit_s)

    async def _serve_requests(self, stack: contextlib.AsyncExitStack) -> bool:
        new = False
        for request in sorted(requests_folder(self._folder).iterdir()):
            if request.name in self._servers or (profile := request.read_text().strip()) not in MODELS:
                continue
            tree = self._folder / "boards" / request.name
            await asyncio.to_thread(create, tree, profile)
            power = f"{self._power}.{request.name}"
            server = BoardServer(tree, self._host_key, self._client_key, power=power)
            stack.push_async_callback(server.close)
            await server.start()
            self._servers[request.name] = server
            _log.info("%s (%s) is served at port %d", request.name, profile, server.port)
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


def main(folder: str, lock: str = "") -> int:
    """Serve the boards of `folder`; returns the exit status. `lock` is a descriptor that holds its lock."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    _log.setLevel(logging.INFO)
    place = Path(folder).absolute()
    if lock:
        descriptor = int(lock)
        os.set_inheritable(descriptor, False)
        # Whoever started it waits for this process, which is loaded by now, and not for the one that serves.
        if os.fork():
            os._exit(0)
        os.setsid()
    elif (held := try_lock(place)) is not None:
        descriptor = held
    else:
        print(f"The boards in {place} are served already.", file=sys.stderr)  # noqa: T201
        return 3
    requests_folder(place).mkdir(parents=True, exist_ok=True)
    try:
        asyncio.run(_until_signalled(place))
    finally:
        os.close(descriptor)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
