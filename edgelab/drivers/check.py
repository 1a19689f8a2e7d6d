"""What checking, locking and restoring a device found: verdicts with a reason and the evidence for each."""

from __future__ import annotations

import msgspec


class Evidence(msgspec.Struct, frozen=True):
    """Where a value came from: the file or command, what it said, and when (seconds since the epoch)."""

    source: str
    text: str
    read_s: float


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One question asked of a device. `ok` is None when the answer could not be read.

    `reason` is one sentence for every answer but yes. `required` says that "unknown" is not good enough.
    """

    name: str
    ok: bool | None
    value: str = ""
    wanted: str = ""
    reason: str = ""
    required: bool = False
    evidence: Evidence | None = None


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """The checks of one device; what `edgelab devices check --json` prints as `edgelab.check/1`."""

    device: str
    simulated: bool = False
    checks: tuple[Check, ...] = ()
    checked_s: float = 0.0

    @property
    def ready(self) -> bool:
        """Whether no check failed and every required one was answered."""
        return all(check.ok or (check.ok is None and not check.required) for check in self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the device is not ready: one sentence a check."""
        return tuple(
            check.reason
            for check in self.checks
            if check.ok is False or (check.ok is None and check.required)
        )


class LockReport(msgspec.Struct, frozen=True, kw_only=True):
    """What locking a device did and what was read back afterwards (`edgelab.lock/1`).

    `needs_reboot` says that the power mode wants a reboot, which EdgeLab never starts by itself.
    """

    device: str
    simulated: bool = False
    locked: bool
    needs_reboot: bool = False
    steps: tuple[str, ...] = ()
    problem: str = ""
    advice: str = ""
    checks: tuple[Check, ...] = ()


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was put back (`edgelab.restore/1`). `restored` is also True when there was nothing to put back."""

    device: str
    simulated: bool = False
    restored: bool
    steps: tuple[str, ...] = ()
    problem: str = ""
    advice: str = ""
