"""What the screens see of one device: a frozen snapshot, made anew whenever anything changes."""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.drivers.check import CheckReport, LockReport, RestoreReport
from edgelab.drivers.device_state import DeviceState
from edgelab.drivers.transport import LinkProblem

Link = Literal["idle", "connecting", "up", "lost", "failed"]
"""`lost` reconnects by itself; `failed` needs the operator (a wrong key, a refused login)."""

Activity = Literal["", "check", "lock", "restore"]
LockState = Literal["unknown", "unlocked", "locked", "lost"]


class BoardView(msgspec.Struct, frozen=True, kw_only=True):
    """One device as the monitor sees it. `state` keeps the last look also while the link is down.

    `problem_kind` names what is wrong with the link where that is known, so that nobody has to guess from words.
    `steps` are what the present or last activity said so far. `polled` is False while a run holds the
    device: then nothing but the run itself reads it. `lock_state` is `lost` when clocks that EdgeLab locked
    were found otherwise. `gpu_target_hz` is what the profile wants the GPU to run at.
    """

    device: str
    link: Link = "idle"
    problem: str = ""
    problem_kind: LinkProblem | Literal[""] = ""
    advice: str = ""
    state: DeviceState | None = None
    lock_state: LockState = "unknown"
    activity: Activity = ""
    steps: tuple[str, ...] = ()
    check: CheckReport | None = None
    lock: LockReport | None = None
    restore: RestoreReport | None = None
    polled: bool = True
    gpu_target_hz: int | None = None
