"""Finds, or starts, the process that serves the simulated boards of a data folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from edgelab.drivers.simulated.models import MODELS
from edgelab.errors import NotReadyError

_START_LIMIT_S = 20.0
_MOST_STARTS = 3
_MOST_LOG_BYTES = 1 << 20
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
    folder = folder.absolute()
    if profile not in MODELS:
        raise NotReadyError(
            f"There is no simulated board for the profile {profile!r} of {name}.",
            advice=f"Simulated are {', '.join(MODELS)}.",
        )
    try:
        return _place_in_time(folder, name, profile)
    except OSError as error:
        raise NotReadyError(
            f"The simulated boards in {folder} cannot be served: {error.strerror}.",
            advice="Free disk space there or choose another folder with --home.",
        ) from error


def _place_in_time(folder: Path, name: str, profile: str) -> BoardPlace:
    requests_folder(folder).mkdir(parents=True, exist_ok=True)
    request = requests_folder(folder) / name
    if not request.exists():
        request.write_text(profile)
    end_s = time.monotonic() + _START_LIMIT_S
    starts = 0
    while time.monotonic() < end_s:
        if starts < _MOST_STARTS:
            starts += _start_if_absent(folder)
        elif not is_running(folder):
            break
        place = _place(folder, name)
        if place is not None:
            return place
        time.sleep(_POLL_S)
    raise NotReadyError(
        f"The simulated board {name} was not served within {_START_LIMIT_S:g} s."
        if starts < _MOST_STARTS
        else f"The process that serves the simulated board {name} ended {starts} times while it started.",
        advice=f"See {folder / 'serve.log'}.",
    )


def stop(folder: Path, time_limit_s: float = 10.0) -> None:
    """End the serving process of a folder and wait for that; nothing happens when there is none."""
    end_s = time.monotonic() + time_limit_s
    told = None
    while is_running(folder) and time.monotonic() < end_s:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            served = msgspec.json.decode(boards_file(folder).read_bytes(), type=Served)
            if served.pid != told:
                os.kill(served.pid, signal.SIGTERM)
                told = served.pid
        time.sleep(_POLL_S)


def is_running(folder: Path) -> bool:
    """Whether a process serves the boards of a folder now, or is about to."""
    descriptor = try_lock(folder)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def _place(folder: Path, name: str) -> BoardPlace | None:
    try:
        served = msgspec.json.decode(boards_file(folder).read_bytes(), type=Served)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    # What a killed process announced stays behind.
    return served.boards.get(name) if is_running(folder) else None


def try_lock(folder: Path) -> int | None:
    """Return a descriptor that holds the folder's lock, None while a serving process holds it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / "serve.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _start_if_absent(folder: Path) -> bool:
    """Start the serving process unless there is one; returns whether it had to."""
    descriptor = try_lock(folder)
    if descriptor is None:
        return False
    try:
        boards_file(folder).unlink(missing_ok=True)
        log = folder / "serve.log"
        mode = "wb" if log.exists() and log.stat().st_size > _MOST_LOG_BYTES else "ab"
        with log.open(mode) as file:
            # Ends once the process that serves is forked, so nobody has a child to wait for.
            subprocess.run(
                [sys.executable, "-m", "edgelab.drivers.simulated.serve", str(folder), str(descriptor)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                pass_fds=[descriptor],
                timeout=_START_LIMIT_S,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return True
    finally:
        os.close(descriptor)
    return True
