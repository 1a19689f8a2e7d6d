"""A family whose clocks are set through the kernel's own nodes: devfreq for GPU and memory, cpufreq for CPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from edgelab.drivers.check import Check
from edgelab.drivers.device_state import ClockDomain, DeviceState, SavedClocks
from edgelab.drivers.families import clock_sampling
from edgelab.drivers.families.clock_holding import hold, set_governor, told
from edgelab.drivers.families.clock_judgement import (
    clock_checks,
    cluster_target,
    nearest_step,
    not_in_table,
    top_hz,
)
from edgelab.drivers.families.clock_nodes import nodes_to_save
from edgelab.drivers.families.common_reading import BOOT_ID, COMMON_FILES, FULL_FILES, UPTIME, common_commands
from edgelab.drivers.families.judgement import identity, shared_checks, sudo, with_required
from edgelab.drivers.families.node_writing import NodeRefused, read_nodes, write_back
from edgelab.drivers.family import LockOutcome, OnStep
from edgelab.drivers.probe import Command, ProbeReply, ProbeRequest
from edgelab.drivers.profile import Profile
from edgelab.drivers.transport import Transport

_MOST_COUNTERS = 16
_REFUSALS = {
    "identity": "Give the device the profile of the board it is.",
    "sudo": "Give the login user sudo on the board, or say in lab.toml how it is reached.",
}


class NodeFamily:
    """What Jetson, RK3588, Android and Linux have in common; see `edgelab.drivers.family.Family`."""

    name: ClassVar[str]
    poll_files: ClassVar[tuple[str, ...]] = ()
    full_files: ClassVar[tuple[str, ...]] = ()
    root_files: ClassVar[tuple[str, ...]] = ()
    full_commands: ClassVar[tuple[Command, ...]] = ()

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def request(self, *, full: bool = True, under_load: bool = False) -> ProbeRequest:
        """See `Family.request`."""
        commands = common_commands(self.profile, full=full, under_load=under_load)
        if not full:
            return ProbeRequest(files=(*COMMON_FILES, *self.poll_files), commands=commands)
        return ProbeRequest(
            files=(*COMMON_FILES, *FULL_FILES, *self.poll_files, *self.full_files),
            root_files=self.root_files,
            commands=(*commands, *self.full_commands),
        )

    def read(self, reply: ProbeReply) -> DeviceState:
        """See `Family.read`."""
        raise NotImplementedError

    def judge(self, state: DeviceState, before: DeviceState | None) -> tuple[Check, ...]:
        """See `Family.judge`."""
        shared = shared_checks(state, before, self.profile)
        clocks = clock_checks(state, self.profile.clocks)
        # What the board is comes first, then its clocks, then its health.
        first = [check for check in shared if check.name in ("identity", "board_clock", "sudo")]
        rest = [check for check in shared if check not in first]
        return with_required([*first, *clocks, *rest], self.profile)

    def saved(self, state: DeviceState, owner: str) -> SavedClocks:
        """See `Family.saved`."""
        return SavedClocks(
            family=self.name,
            owner=owner,
            saved_s=state.read_s,
            boot_id=state.boot_id,
            nodes=nodes_to_save(state),
        )

    async def lock(self, board: Transport, state: DeviceState, on_step: OnStep) -> LockOutcome:
        """See `Family.lock`."""
        refusal = self._refusal(board, state)
        return refusal if refusal is not None else await told(self._lock(board, state, on_step))

    async def restore(self, board: Transport, saved: SavedClocks, on_step: OnStep) -> LockOutcome:
        """See `Family.restore`."""
        return await told(self._restore(board, saved, on_step))

    def sampled_nodes(self, state: DeviceState) -> tuple[str, ...]:
        """See `Family.sampled_nodes`."""
        nodes = (UPTIME, *clock_sampling.clock_nodes(state, self.profile.clocks), *self.health_nodes(state))
        return tuple(dict.fromkeys(nodes))

    def health_nodes(self, state: DeviceState) -> tuple[str, ...]:
        """Return the nodes of heat and throttling that the worker may read."""
        zones = [zone.source for zone in state.temperatures if zone.source.startswith("/")]
        kinds = [f"{path.removesuffix('/temp')}/type" for path in zones]
        # One counter a CPU of a server would be too many to read between two blocks of timing.
        counters = state.throttle_nodes if len(state.throttle_nodes) <= _MOST_COUNTERS else ()
        return (*zones, *kinds, *counters)

    def lock_lost(self, state: DeviceState, files: Mapping[str, bytes]) -> str | None:
        """See `Family.lock_lost`."""
        reply = ProbeReply(files=files, refused={}, outputs={}, started_s=state.read_s, ended_s=state.read_s)
        return clock_sampling.difference(state, self.read(reply), self.profile)

    def _refusal(self, board: Transport, state: DeviceState) -> LockOutcome | None:
        """Return why a board is not to be touched at all: it is another one, or there is no root on it."""
        if not self.profile.clocks.lock:
            return None
        for check in (identity(state, self.profile), sudo(state, self.profile)):
            if check is not None and check.ok is False:
                problem = f"{board.device}: {check.reason} Nothing was changed."
                return LockOutcome(done=False, problem=problem, advice=_REFUSALS[check.name])
        return None

    async def _lock(self, board: Transport, state: DeviceState, on_step: OnStep) -> LockOutcome:
        policy = self.profile.clocks
        clusters = [clock for clock in state.clocks if clock.kind == "cpu"]
        # Every refusal that can be foreseen comes before the first write.
        plan = self._plan(state)
        for clock, step_hz in plan:
            await hold(board, clock, step_hz, on_step)
        for clock in clusters if policy.cpu_governor else ():
            await set_governor(board, clock, policy.cpu_governor, on_step)
        if not plan and not (policy.cpu_governor and clusters):
            on_step("there is no clock to lock on this device")
        return LockOutcome(done=True)

    def _plan(self, state: DeviceState) -> list[tuple[ClockDomain, int]]:
        """Return which clock is to be held at which step. Raises `NodeRefused` for one that it does not have."""
        policy = self.profile.clocks
        plan = []
        for clock in state.clocks:
            target_hz = self._target(clock)
            if target_hz is None or not clock_sampling.is_asked(clock.kind, policy):
                continue
            if (missing := not_in_table(clock, target_hz, policy.tolerance)) is not None:
                raise NodeRefused(f"{missing} Nothing was changed.")
            plan.append((clock, nearest_step(clock, target_hz, policy.tolerance) or target_hz))
        if policy.gpu_hz is not None and state.clock("gpu") is None:
            why = state.why_unknown("gpu_clock") or "no devfreq node of it was found"
            raise NodeRefused(f"There is no GPU clock to lock: {why}. Nothing was changed.")
        return plan

    def _target(self, clock: ClockDomain) -> int | None:
        policy = self.profile.clocks
        if clock.kind == "gpu":
            return policy.gpu_hz
        if clock.kind == "memory":
            return top_hz(clock) if policy.memory_at_max else policy.memory_hz
        return cluster_target(clock, policy) if clock.kind == "cpu" else None

    async def _restore(self, board: Transport, saved: SavedClocks, on_step: OnStep) -> LockOutcome:
        if await self._rebooted_since(board, saved):
            on_step("the board was booted since: its clocks fell back by themselves")
            return LockOutcome(done=True)
        return await self._write_back(board, saved, on_step)

    async def _rebooted_since(self, board: Transport, saved: SavedClocks) -> bool:
        boot_id = (await read_nodes(board, [BOOT_ID]))[BOOT_ID]
        return boot_id is not None and saved.boot_id is not None and boot_id != saved.boot_id

    async def _write_back(self, board: Transport, saved: SavedClocks, on_step: OnStep) -> LockOutcome:
        refused = await write_back(board, saved.nodes, on_step)
        if refused:
            problem = " ".join(error.message for error in refused)
            advice = "Set what is named by hand, or reboot the board: clocks do not survive that."
            return LockOutcome(done=False, problem=f"{board.device}: {problem}", advice=advice)
        on_step(f"all {len(saved.nodes)} nodes hold what they held before")
        return LockOutcome(done=True)
