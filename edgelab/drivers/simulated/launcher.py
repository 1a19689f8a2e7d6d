"""Finds, or starts, the process that serves the simulated boards of a data folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from edgelab.errors import NotReadyError

_START_LIMIT_S = 20.0
_POLL_S = 0.02


class BoardPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where one simulated board is served, and how one gets in. `root` is its tree of fake nodes."""

    host: str
    port: int
    user: str
    key: str
    known_hosts: str
    root: str


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What the serving process announces: itself and its boards by name."""

    pid: int
    boards: dict[str, BoardPlace]


def boards_file(folder: Path) -> Path:
    """Return the file in which the serving process announces its boards."""
    return folder / "boards.json"


def requests_folder(folder: Path) -> Path:
    """Return the folder in which boards are asked for."""
    return folder / "requests"


def ensure_running(folder: Path, name: str, profile: str) -> BoardPlace:
    """Return the place of the board `name`, whose server is started when it does not run; blocks for that.

    Safe for several processes at once. Raises `NotReadyError` when the board is not served in time.
    """
    try:
        requests_folder(folder).mkdir(parents=True, exist_ok=True)
        request = requests_folder(folder) / name
        if not request.exists():
            request.write_text(profile)
        end_s = time.monotonic() + _START_LIMIT_S
        while time.monotonic() < end_s:
            _start_if_absent(folder)
            place = _place(folder, name)
            if place is not None:
                return place
            time.sleep(_POLL_S)
    except OSError as error:
        raise NotReadyError(
            f"The simulated boards in {folder} cannot be served: {error.strerror}.",
            advice="Free disk space there or choose another folder with --home.",
        ) from error
    raise NotReadyError(
        f"The simulated board {name} was not served within {_START_LIMIT_S:g} s.",
        advice=f"See {folder / 'serve.log'}.",
    )


def stop(folder: Path, time_limit_s: float = 10.0) -> None:
    """End the serving process of a folder and wait for that; nothing happens when there is none."""
    end_s = time.monotonic() + time_limit_s
    while is_running(folder) and time.monotonic() < end_s:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            served = msgspec.json.decode(boards_file(folder).read_bytes(), type=Served)
            os.kill(served.pid, 15)
        time.sleep(_POLL_S)


def is_running(folder: Path) -> bool:
    """Whether a process serves the boards of a folder now."""
    descriptor = _try_lock(folder)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def _place(folder: Path, name: str) -> BoardPlace | None:
    if not is_running(folder):
        return None
    try:
        served = msgspec.json.decode(boards_file(folder).read_bytes(), type=Served)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return served.boards.get(name)


def _try_lock(folder: Path) -> int | None:
    """Return a descriptor that holds the folder's lock, None while a serving process holds it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / "serve.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _start_if_absent(folder: Path) -> None:
    descriptor = _try_lock(folder)
    if descriptor is None:
        return
    try:
        boards_file(folder).unlink(missing_ok=True)
        with (folder / "serve.log").open("ab") as log:
            subprocess.Popen(
                [sys.executable, "-m", "edgelab.drivers.simulated.serve", str(folder), str(descriptor)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[descriptor],
            )
    finally:
        os.close(descriptor)
