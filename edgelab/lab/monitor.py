"""The monitor process: keeps all devices of the lab in view for the app, so that SSH never runs in the app.

`python -m edgelab.lab.monitor HOME [LAB_FILE]`: requests on stdin, views on stdout (`monitor_messages`). It
ends when its stdin closes, so it never outlives the app.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from edgelab.errors import EdgeLabError
from edgelab.home import Home
from edgelab.lab.board_keeper import BoardKeeper
from edgelab.lab.board_view import BoardView
from edgelab.lab.connection import open_board
from edgelab.lab.device import Device
from edgelab.lab.invalid_measurements import invalidate
from edgelab.lab.inventory import lab_devices
from edgelab.lab.monitor_messages import Pause, Reply, Request, Seen, Trouble
from edgelab.lab.secrets import sudo_password


class Monitor:
    """All keepers of one lab, and the pipe to the app."""

    def __init__(self, home: Home, devices: Sequence[Device]) -> None:
        self._encoder = msgspec.json.Encoder()
        forget = functools.partial(invalidate, home)
        self._keepers = {
            device.name: BoardKeeper(
                device.name,
                functools.partial(open_board, device, home),
                self._publish,
                forget,
                sudo_password(device),
            )
            for device in devices
        }

    async def run(self, requests: asyncio.StreamReader) -> None:
        """Keep every device in view until the app closes the pipe."""
        async with asyncio.TaskGroup() as group:
            keepers = [group.create_task(keeper.run()) for keeper in self._keepers.values()]
            while line := await requests.readline():
                self._take(line)
            for keeper in keepers:
                keeper.cancel()

    def _take(self, line: bytes) -> None:
        request = msgspec.json.decode(line, type=Request)
        if isinstance(request, Pause):
            for keeper in self._keepers.values():
                keeper.paused = request.paused
        elif request.device in self._keepers:
            self._keepers[request.device].ask(request)

    def _publish(self, view: BoardView) -> None:
        send(Seen(view=view), self._encoder)


def send(reply: Reply, encoder: msgspec.json.Encoder) -> None:
    """Write one reply whole. Raises BrokenPipeError when the app is gone."""
    view = memoryview(encoder.encode(reply) + b"\n")
    while view:
        view = view[os.write(1, view) :]


async def _serve(home: Home, lab_file: Path | None) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    devices = await asyncio.to_thread(lab_devices, lab_file)
    await Monitor(home, devices).run(reader)


def main(home_root: str, lab_file: str = "") -> int:
    """Run the monitor of the lab of `home_root`; returns the exit status."""
    # It logs every command of every look.
    logging.getLogger("asyncssh").setLevel(logging.WARNING)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    try:
        asyncio.run(_serve(Home(Path(home_root)), Path(lab_file) if lab_file else None))
    except EdgeLabError as error:
        send(Trouble(message=error.message, advice=error.advice), msgspec.json.Encoder())
        return int(error.exit_code)
    except BrokenPipeError:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
