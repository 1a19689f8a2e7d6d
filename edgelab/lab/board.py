"""A device of the lab with its link and its family: look at it, check it, lock its clocks, restore them."""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import time

import msgspec

from edgelab.drivers.check import Check, CheckReport, LockReport, RestoreReport
from edgelab.drivers.device_state import DeviceState, LeaseHolder, SavedClocks
from edgelab.drivers.families import saved_clocks
from edgelab.drivers.family import Family, LockOutcome, OnStep
from edgelab.drivers.profile import Profile
from edgelab.drivers.transport import LinkFailure, Transport
from edgelab.errors import EdgeLabError
from edgelab.lab.device import Device

CLOCK_CHECKS = frozenset({"power_mode", "gpu_clock", "cpu_clock", "memory_clock", "real_clock", "gpu_units"})
"""The checks that say whether clocks are locked as the profile wants them."""


def owner_name() -> str:
    """Return who this controller is to others: user@host."""
    return f"{getpass.getuser()}@{platform.node()}"


def holder(purpose: str) -> LeaseHolder:
    """Return how this process signs a lease that it takes for `purpose`."""
    return LeaseHolder(owner=owner_name(), purpose=purpose, pid=os.getpid(), since_s=time.time())


def described(held: LeaseHolder | None) -> str:
    """Return who holds a lease, in words."""
    if held is None:
        return "someone who has not signed yet"
    since = time.strftime("%H:%M:%S", time.localtime(held.since_s))
    return f"{held.purpose} of {held.owner} (pid {held.pid}, since {since})"


class Board:
    """One device. Whoever changes something on it holds its lease; looking needs none."""

    def __init__(self, device: Device, profile: Profile, family: Family, transport: Transport) -> None:
        self.device = device
        self.profile = profile
        self.family = family
        self.transport = transport

    async def look(self, *, full: bool = False, under_load: bool = False) -> DeviceState:
        """Return the state of the device, in one round trip. Raises `LinkFailure`."""
        return self.family.read(
            await self.transport.probe(self.family.request(full=full, under_load=under_load))
        )

    async def check(self) -> tuple[CheckReport, DeviceState | None]:
        """Judge the device by two looks: counters that grow between them are seen to grow.

        A link that fails is an answer (`reachable`), not an exception; the state is then None.
        """
        try:
            before = await self.look()
            state = await self.look(full=True, under_load=bool(self.profile.load_argv))
        except LinkFailure as failure:
            return unreachable(self.device, failure), None
        return self.report(state, before), state

    def report(self, state: DeviceState, before: DeviceState | None = None) -> CheckReport:
        """Return the checks of a state that was read just now."""
        reached = Check(
            name="reachable",
            ok=True,
            value=f"{state.round_trip_s * 1e3:.0f} ms",
            wanted="a working link",
            required="reachable" in self.profile.required,
        )
        return CheckReport(
            device=self.device.name,
            simulated=self.device.simulated,
            checks=(reached, *self.family.judge(state, before)),
            checked_s=state.read_s,
        )

    def lease(self, purpose: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Hold the device for `purpose`. Raises `LeaseHeld` at once when someone else does."""
        return self.transport.lease(holder(purpose))

    async def lock(self, on_step: OnStep, *, purpose: str = "lock") -> LockReport:
        """Store what was, set, read back and judge. The caller holds the lease.

        What was begun and did not hold is put back before this returns. Raises `LinkFailure`; what the
        device had is then still stored on it, for `restore`.
        """
        steps = _Steps(on_step)
        if not self.profile.clocks.lock:
            return self._not_locked(steps, f"{self.profile.title}: its clocks are not EdgeLab's to lock.")
        state = await self.look(full=True)
        if (saved := self._to_be_saved(state, purpose)) is not None:
            try:
                await saved_clocks.store(self.transport, saved)
            except LinkFailure:
                raise
            except EdgeLabError as error:
                # Without a way back nothing is changed.
                return self._not_locked(steps, error.message, advice=error.advice)
            steps("what the board had was stored on it")
        outcome = await self.family.lock(self.transport, state, steps)
        return await self._judged_lock(outcome, steps)

    def _to_be_saved(self, state: DeviceState, purpose: str) -> SavedClocks | None:
        """Return what to store before the first change; None when that was done since the board's boot."""
        found = msgspec.structs.replace(self.family.saved(state, owner_name()), purpose=purpose)
        if state.saved is None:
            return found
        if state.saved.boot_id == state.boot_id:
            return None
        # Clocks fell back by themselves when the board was booted, its power mode did not.
        return msgspec.structs.replace(
            found, purpose=state.saved.purpose, power_mode=state.saved.power_mode or found.power_mode
        )

    async def _judged_lock(self, outcome: LockOutcome, steps: _Steps) -> LockReport:
        state = await self.look(full=True, under_load=bool(self.profile.load_argv))
        checks = tuple(check for check in self.report(state).checks if check.name in CLOCK_CHECKS)
        wrong = [check for check in checks if not check.ok and _counts(check)]
        if outcome.done and not wrong:
            return self._lock_report(True, steps, checks=checks)
        problem = outcome.problem or " ".join(check.reason for check in wrong)
        if not outcome.needs_reboot and state.saved is not None:
            undone = await self.family.restore(self.transport, state.saved, steps)
            if undone.done:
                await saved_clocks.clear(self.transport)
            else:
                problem = f"{problem} Restoring failed as well: {undone.problem}"
        return msgspec.structs.replace(
            self._lock_report(False, steps, checks=checks),
            needs_reboot=outcome.needs_reboot,
            problem=problem,
            advice=outcome.advice,
        )

    async def restore(self, on_step: OnStep) -> RestoreReport:
        """Put back what the device had before EdgeLab's first change. The caller holds the lease."""
        steps = _Steps(on_step)
        name, simulated = self.device.name, self.device.simulated
        state = await self.look(full=True)
        if state.saved is None:
            steps("nothing is stored on the board, so there is nothing to put back")
            return RestoreReport(device=name, simulated=simulated, restored=True, steps=steps.said)
        outcome = await self.family.restore(self.transport, state.saved, steps)
        if outcome.done:
            await saved_clocks.clear(self.transport)
        return RestoreReport(
            device=name,
            simulated=simulated,
            restored=outcome.done,
            steps=steps.said,
            problem=outcome.problem,
            advice=outcome.advice,
        )

    def _not_locked(self, steps: _Steps, problem: str, *, advice: str = "") -> LockReport:
        report = self._lock_report(False, steps)
        return msgspec.structs.replace(report, problem=problem, advice=advice)

    def _lock_report(self, locked: bool, steps: _Steps, *, checks: tuple[Check, ...] = ()) -> LockReport:
        return LockReport(
            device=self.device.name,
            simulated=self.device.simulated,
            locked=locked,
            steps=steps.said,
            checks=checks,
        )


class _Steps:
    """Collects the steps of one action while they are told on."""

    def __init__(self, on_step: OnStep) -> None:
        self._on_step = on_step
        self._said: list[str] = []

    def __call__(self, step: str) -> None:
        self._said.append(step)
        self._on_step(step)

    @property
    def said(self) -> tuple[str, ...]:
        return tuple(self._said)


def _counts(check: Check) -> bool:
    """Whether an answer that is not yes counts against a lock: "unknown" only where an answer is required."""
    return check.ok is False or check.required


def unreachable(device: Device, failure: LinkFailure) -> CheckReport:
    """Return the report on a device whose link failed."""
    check = Check(
        name="reachable",
        ok=False,
        value=failure.problem.replace("_", " "),
        wanted="a working link",
        reason=f"{failure.message} {failure.advice}".strip(),
        required=True,
    )
    return CheckReport(device=device.name, simulated=device.simulated, checks=(check,), checked_s=time.time())
