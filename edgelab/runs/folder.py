"""The run folder: specification, lock, journal and log of one run.

Liveness is the flock on `lock`, held by the run process for its whole life: the kernel drops it with the
process, however that ends, so a killed run is never shown as running.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

import msgspec

from edgelab.errors import NotReadyError, UsageError
from edgelab.home import Home
from edgelab.runs.journal import Journal
from edgelab.runs.spec import RunSpec

_RESERVE_BYTES = 512 * 1024


class RunFolder:
    """The folder of the run `run_id` under `home`."""

    def __init__(self, home: Home, run_id: str) -> None:
        self.home = home
        self.run_id = run_id
        self.path = home.runs / run_id

    @property
    def log(self) -> Path:
        """Standard error of the run process, with tracebacks."""
        return self.path / "process.log"

    @property
    def journal(self) -> Journal:
        """The append-only record of what this run has finished."""
        return Journal(self.path / "journal.jsonl")

    def create(self, spec: RunSpec) -> None:
        """Make the folder with the specification, and a reserve that a full disk cannot take.

        Raises `NotReadyError` when the disk does not allow it.
        """
        try:
            self.path.mkdir(parents=True)
            (self.path / "spec.json").write_bytes(msgspec.json.encode(spec))
            (self.path / "reserve").write_bytes(os.urandom(_RESERVE_BYTES))
        except OSError as error:
            raise NotReadyError(
                f"Cannot create the run folder {self.path}: {error.strerror}.",
                advice="Free disk space there or choose another folder with --home.",
            ) from error

    def release_reserve(self) -> None:
        """Give the reserved space back, so that a verdict can still be written to a full disk."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / "reserve").unlink()

    def spec(self) -> RunSpec:
        """Read the specification. Raises `UsageError` when the folder is gone or damaged."""
        try:
            return msgspec.json.decode((self.path / "spec.json").read_bytes(), type=RunSpec)
        except (OSError, msgspec.DecodeError) as error:
            raise UsageError(f"Run {self.run_id} cannot be read from {self.path}: {error}.") from error

    def acquire(self) -> int:
        """Take the run's lock and return the descriptor that holds it.

        Whoever starts the run process takes the lock and hands the descriptor on, so that there is no
        moment at which a run that was just started looks dead. Raises `UsageError` when it is held.
        """
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise UsageError(
                f"Run {self.run_id} is already running (pid {self.holder()}).",
                advice=f"Watch it with `edgelab runs attach {self.run_id}`.",
            ) from error
        return descriptor

    @staticmethod
    def note_holder(descriptor: int, pid: int) -> None:
        """Write the id of the process that holds the lock into the lock file."""
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{pid}\n".encode(), 0)

    def is_alive(self) -> bool:
        """Whether a process holds the run's lock now."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            # A shared probe does not make two probing readers look like a living run to each other.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def holder(self) -> int | None:
        """Return the process id noted by the newest holder of the lock, alive or not."""
        try:
            text = (self.path / "lock").read_text().strip()
        except FileNotFoundError:
            return None
        return int(text) if text.isdigit() else None
