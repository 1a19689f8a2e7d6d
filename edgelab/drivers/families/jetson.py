"""NVIDIA Jetson: power mode by nvpmodel, clocks by jetson_clocks, both stored first and read back afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from edgelab.drivers.board_folder import FOLDER
from edgelab.drivers.device_state import ClockDomain, DeviceState, PowerMode, SavedClocks
from edgelab.drivers.families.clock_judgement import clock_checks, mhz, not_in_table
from edgelab.drivers.families.clock_reading import CPUFREQ_FILES, DEVFREQ_FILES, read_cpufreq, read_devfreq
from edgelab.drivers.families.common_reading import read_common
from edgelab.drivers.families.device_tree import DEVICE_TREE_FILES, read_device_tree
from edgelab.drivers.families.jetson_reading import (
    JETSON_CLOCKS,
    JETSON_COMMANDS,
    JETSON_FILES,
    JETSON_ROOT_FILES,
    STATUS,
    gpu_load_percent,
    mode_number,
    read_counters,
    read_jetson_clocks,
    read_power_mode,
    read_real_clock,
    read_release,
)
from edgelab.drivers.families.node_family import NodeFamily
from edgelab.drivers.families.node_writing import NodeRefused
from edgelab.drivers.families.power_mode import find_mode, set_power_mode
from edgelab.drivers.family import LockOutcome, OnStep
from edgelab.drivers.probe import ProbeReply
from edgelab.drivers.transport import Transport

_CLOCKS_LIMIT_S = 30.0
_FILE_LIMIT_S = 10.0
_LOOK_AGAIN = "Look at what `sudo jetson_clocks --show` says on the board."


class JetsonFamily(NodeFamily):
    """See `edgelab.drivers.family.Family`.

    Locking stores jetson_clocks' own view once per save, sets the mode by its name, then locks. A mode that
    wants a reboot is left alone: the outcome says so.
    """

    name = "jetson"
    poll_files: ClassVar = (*DEVICE_TREE_FILES, *DEVFREQ_FILES, *CPUFREQ_FILES, *JETSON_FILES)
    root_files: ClassVar = JETSON_ROOT_FILES
    full_commands: ClassVar = JETSON_COMMANDS

    def read(self, reply: ProbeReply) -> DeviceState:
        """See `Family.read`."""
        look = read_common(reply)
        read_device_tree(look)
        read_release(look)
        read_power_mode(look)
        read_counters(look)
        measured_hz, load = read_real_clock(look), gpu_load_percent(look)
        clocks = (*read_devfreq(look, measured_hz=measured_hz, load_percent=load), *read_cpufreq(look))
        memory = read_jetson_clocks(look)
        clocks = clocks if memory is None else (*clocks, memory)
        return DeviceState(**look.closing(), clocks=clocks)

    def saved(self, state: DeviceState, owner: str) -> SavedClocks:
        """See `Family.saved`. The store of jetson_clocks has a name of its own for every save."""
        saved = super().saved(state, owner)
        # Only a name: the file is written by `lock`, before its first change.
        store = f"{FOLDER}/jetson_clocks-{int(state.read_s * 1000)}.conf"
        return msgspec.structs.replace(saved, power_mode=state.power_mode, files=(store,))

    def health_nodes(self, state: DeviceState) -> tuple[str, ...]:
        """See `NodeFamily.health_nodes`; the mode's status file shows a mode that someone else has set."""
        return (STATUS, *super().health_nodes(state))

    def lock_lost(self, state: DeviceState, files: Mapping[str, bytes]) -> str | None:
        """See `Family.lock_lost`. The mode is told by its number: the worker does not read the list of names."""
        number = mode_number(files.get(STATUS, b""))
        locked = state.power_mode
        if locked is not None and number is not None and number != locked.id:
            names = {mode.id: mode.name for mode in state.power_modes}
            return f"The power mode went from {locked.name} to {names.get(number, number)}."
        return super().lock_lost(state, files)

    async def _lock(self, board: Transport, state: DeviceState, on_step: OnStep) -> LockOutcome:
        wanted = self._wanted_mode(state)
        gpu, target_hz = state.clock("gpu"), self.profile.clocks.gpu_hz
        if gpu is not None and target_hz is not None:
            missing = not_in_table(gpu, target_hz, self.profile.clocks.tolerance)
            if missing is not None:
                raise NodeRefused(f"{missing} Nothing was changed.")
        await self._store(board, state, on_step)
        if wanted is not None:
            outcome = await set_power_mode(board, wanted, on_step)
            if not outcome.done:
                return outcome
        await self._jetson_clocks(board, (), on_step, "clocks are locked by jetson_clocks")
        return await self._confirm(board, on_step)

    def _wanted_mode(self, state: DeviceState) -> PowerMode | None:
        """Return the mode to ask for, None when it is in force. Raises `NodeRefused` for one the board lacks."""
        name = self.profile.clocks.power_mode
        in_force = state.power_mode is not None and state.power_mode.name == name
        # A change that was broken off leaves the new mode's name with the old one's limits.
        if not name or (in_force and not any(self._is_capped(clock) for clock in state.clocks)):
            return None
        mode = find_mode(state, name)
        if mode is not None:
            return mode
        known = ", ".join(known.name for known in state.power_modes)
        why = f"it has {known}" if known else state.why_unknown("power_modes") or "its list could not be read"
        raise NodeRefused(f"This board knows no power mode {name}: {why}. Nothing was changed.")

    def _is_capped(self, clock: ClockDomain) -> bool:
        target_hz = self._target(clock) if clock.kind in ("gpu", "cpu") else None
        if target_hz is None or not clock.max_hz:
            return False
        return clock.max_hz < target_hz * (1 - self.profile.clocks.tolerance)

    async def _store(self, board: Transport, state: DeviceState, on_step: OnStep) -> None:
        """Let jetson_clocks store what it will change, unless this save has its store already.

        A second store would hold the locked state. It is written beside its place and moved there, so that
        a file of that name is always whole.
        """
        kept = state.saved
        files = self.saved(state, "").files
        if kept is not None and kept.boot_id == state.boot_id:
            files = kept.files
        elif kept is not None:
            await self._remove(board, kept.files)
        for path in files:
            if (await board.read_many([path]))[path] is not None:
                on_step(f"{path} is kept: it holds what was before the first change")
                continue
            part = _part(path)
            # jetson_clocks asks before it overwrites a file, and nobody is there to answer.
            await self._run(board, ("rm", "-f", part), root=False)
            await self._jetson_clocks(board, ("--store", part), on_step, f"clocks are stored in {path}")
            await self._run(board, ("mv", part, path), root=False)

    async def _confirm(self, board: Transport, on_step: OnStep) -> LockOutcome:
        """Read the nodes back: jetson_clocks says nothing, whatever happened."""
        state = self.read(await board.probe(self.request(full=False)))
        for check in clock_checks(state, self.profile.clocks):
            if check.name in ("power_mode", "gpu_clock", "cpu_clock") and check.ok is False:
                return LockOutcome(done=False, problem=f"{board.device}: {check.reason}", advice=_LOOK_AGAIN)
        gpu, cpu = state.clock("gpu"), state.clock("cpu")
        mode = state.power_mode.name if state.power_mode else "unknown"
        said = [f"{name} {mhz(clock.current_hz)}" for name, clock in (("GPU", gpu), ("CPU", cpu)) if clock]
        on_step(f"read back: mode {mode}, {', '.join(said)}")
        return LockOutcome(done=True)

    async def _restore(self, board: Transport, saved: SavedClocks, on_step: OnStep) -> LockOutcome:
        state = self.read(await board.probe(self.request(full=False)))
        if saved.boot_id is not None and state.boot_id is not None and saved.boot_id != state.boot_id:
            on_step("the board was booted since: its clocks fell back by themselves, its power mode did not")
            outcome = await self._restore_mode(board, saved, state, on_step)
        else:
            outcome = await self._restore_all(board, saved, state, on_step)
        if outcome.done:
            await self._remove(board, saved.files)
        return outcome

    async def _restore_all(
        self, board: Transport, saved: SavedClocks, state: DeviceState, on_step: OnStep
    ) -> LockOutcome:
        await self._restore_stores(board, saved, on_step)
        outcome = await self._restore_mode(board, saved, state, on_step)
        if not outcome.done:
            return outcome
        if saved.power_mode != state.power_mode:
            # The mode brought limits of its own.
            await self._restore_stores(board, saved, on_step)
        return await self._write_back(board, saved, on_step)

    async def _restore_stores(self, board: Transport, saved: SavedClocks, on_step: OnStep) -> None:
        found = await board.read_many(saved.files)
        for path in saved.files:
            if found[path] is not None:
                await self._jetson_clocks(
                    board, ("--restore", path), on_step, f"clocks are restored from {path}"
                )

    async def _restore_mode(
        self, board: Transport, saved: SavedClocks, state: DeviceState, on_step: OnStep
    ) -> LockOutcome:
        mode = saved.power_mode
        if mode is None or (state.power_mode is not None and state.power_mode.name == mode.name):
            return LockOutcome(done=True)
        return await set_power_mode(board, find_mode(state, mode.name) or mode, on_step)

    async def _remove(self, board: Transport, stores: tuple[str, ...]) -> None:
        if stores:
            await self._run(board, ("rm", "-f", *stores, *map(_part, stores)), root=False)

    async def _jetson_clocks(
        self, board: Transport, arguments: tuple[str, ...], on_step: OnStep, step: str
    ) -> None:
        await self._run(board, (JETSON_CLOCKS, *arguments), root=True)
        on_step(step)

    async def _run(self, board: Transport, argv: tuple[str, ...], *, root: bool) -> None:
        """Run a tool. Raises `NodeRefused` with its last word when it fails."""
        limit_s = _CLOCKS_LIMIT_S if root else _FILE_LIMIT_S
        result = await board.run(argv, limit_s, root=root)
        if result.exit_code != 0:
            lines = (result.stdout + result.stderr).decode(errors="replace").strip().splitlines()
            said = lines[-1] if lines else f"exit status {result.exit_code}"
            raise NodeRefused(f"{board.device}: {' '.join(argv)} failed: {said}", detail=said)


def _part(path: str) -> str:
    return f"{path}.part"
