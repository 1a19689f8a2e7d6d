"""Changes a Jetson's power mode with nvpmodel, and never lets that reboot the board."""

from __future__ import annotations

from edgelab.drivers.device_state import DeviceState, PowerMode
from edgelab.drivers.families.jetson_reading import NVPMODEL, mode_of_query
from edgelab.drivers.family import LockOutcome, OnStep
from edgelab.drivers.readings.nvpmodel import read_nvpmodel_change
from edgelab.drivers.transport import Transport

_CHANGE_LIMIT_S = 30.0
_QUERY_LIMIT_S = 10.0
_NO = b"NO\n"
"""The answer to nvpmodel's question whether to reboot now; it cancels the whole change."""


def find_mode(state: DeviceState, name: str) -> PowerMode | None:
    """Return the mode of that name as this board numbers it: ids have gaps and 0 need not be the fastest."""
    return next((mode for mode in state.power_modes if mode.name == name), None)


async def set_power_mode(board: Transport, mode: PowerMode, on_step: OnStep) -> LockOutcome:
    """Ask for `mode` and look whether it is in force. Raises `LinkFailure`, `EvaluationFailure`.

    nvpmodel prints nothing on success and its exit status proves nothing: only the second query counts.
    """
    result = await board.run((NVPMODEL, "-m", str(mode.id)), _CHANGE_LIMIT_S, root=True, stdin=_NO)
    change = read_nvpmodel_change((result.stdout + result.stderr).decode(errors="replace"))
    query = await board.run((NVPMODEL, "-q"), _QUERY_LIMIT_S)
    found = mode_of_query(query.stdout + query.stderr)
    if found is not None and found.name == mode.name:
        on_step(f"power mode {mode.name} ({mode.id}) is in force")
        return LockOutcome(done=True)
    if change.reboot_required:
        return _needs_reboot(board, mode)
    held = "unknown" if found is None else found.name
    said = change.errors[-1] if change.errors else f"exit status {result.exit_code}"
    return LockOutcome(
        done=False,
        problem=f"{board.device}: the power mode is {held} after nvpmodel was asked for {mode.name}: {said}",
        advice=f"Look at what `sudo nvpmodel -m {mode.id}` says on the board.",
    )


def _needs_reboot(board: Transport, mode: PowerMode) -> LockOutcome:
    return LockOutcome(
        done=False,
        needs_reboot=True,
        problem=f"{board.device}: power mode {mode.name} needs a reboot, which EdgeLab never starts by itself; "
        "the mode was not changed.",
        advice=f"Run `sudo nvpmodel -m {mode.id}` on the board and answer YES, so that it reboots into "
        f"{mode.name}; then repeat.",
    )
