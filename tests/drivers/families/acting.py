"""What the lab does around a family's lock and restore, without leases and reports."""

from __future__ import annotations

import msgspec

from edgelab.drivers.check import Check
from edgelab.drivers.device_state import DeviceState
from edgelab.drivers.families import saved_clocks
from edgelab.drivers.family import Family, LockOutcome
from edgelab.drivers.transport import Transport


async def look(
    board: Transport, family: Family, *, full: bool = True, under_load: bool = False
) -> DeviceState:
    """Return the state of a board."""
    return family.read(await board.probe(family.request(full=full, under_load=under_load)))


async def lock(board: Transport, family: Family, said: list[str] | None = None) -> LockOutcome:
    """Store what the board has, as the lab does before the first change since booting, then lock."""
    state = await look(board, family)
    saved = family.saved(state, "me@here")
    if state.saved is None:
        await saved_clocks.store(board, saved)
    elif state.saved.boot_id != state.boot_id:
        kept_mode = state.saved.power_mode or saved.power_mode
        await saved_clocks.store(board, msgspec.structs.replace(saved, power_mode=kept_mode))
    return await family.lock(board, state, (said if said is not None else []).append)


async def restore(board: Transport, family: Family, said: list[str] | None = None) -> LockOutcome:
    """Put back what is stored on the board and forget it."""
    state = await look(board, family)
    if state.saved is None:
        return LockOutcome(done=True)
    outcome = await family.restore(board, state.saved, (said if said is not None else []).append)
    if outcome.done:
        await saved_clocks.clear(board)
    return outcome


async def checks(board: Transport, family: Family, *, under_load: bool = False) -> dict[str, Check]:
    """Return the checks of a board by name, from two looks."""
    before = await look(board, family, full=False)
    state = await look(board, family, under_load=under_load)
    return {check.name: check for check in family.judge(state, before)}
