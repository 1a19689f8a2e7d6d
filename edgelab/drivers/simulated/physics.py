"""What happens on a simulated board between two commands: events, time, clocks, health, and the tools' marks."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import msgspec

from edgelab.drivers.simulated import events, orin
from edgelab.drivers.simulated import faults as fault_file
from edgelab.drivers.simulated.board_model import BoardModel
from edgelab.drivers.simulated.board_state import BoardState, load, save
from edgelab.drivers.simulated.clocks import (
    counted,
    current_hz,
    fall_back,
    set_mode,
    settle_clocks,
    trans_stat,
)
from edgelab.drivers.simulated.events import Event
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.health import aged, hottest_c, settle_health
from edgelab.drivers.simulated.models import model_of
from edgelab.drivers.simulated.node_file import put, text_of
from edgelab.drivers.simulated.tree import boot, mode_value

__all__ = ["Settled", "current_hz", "reboot", "settle"]

_BOOTED_S = 31.0
_ODD = "\udcff\udcfe"


class Settled(msgspec.Struct, frozen=True):
    """The faults of a board that was brought up to now, and what happened to it on the way."""

    faults: Faults
    events: tuple[Event, ...]


def settle(tree: Path) -> Settled:
    """Bring the nodes of the board in `tree` up to now. Safe for several processes at once.

    Raises OSError, and `msgspec.DecodeError` when its faults are no faults.
    """
    faults = fault_file.read(tree)
    lock = os.open(tree / "etc/edgelab/settle.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        happened = events.take(tree)
        for event in happened:
            _happen(tree, event)
        _settle(tree, faults)
    finally:
        os.close(lock)
    return Settled(faults, happened)


def reboot(tree: Path) -> None:
    """Boot the board in `tree` anew: another boot id, clocks as they are at boot, counters at nothing."""
    profile = load(tree).profile
    boot(tree, profile, uptime_s=_BOOTED_S)
    mask = mode_value(tree, "TPC_POWER_GATING TPC_PG_MASK")
    if mask is not None:
        put(tree, orin.TPC_MASK, f"{mask}\n")


def _happen(tree: Path, event: Event) -> None:
    model = model_of(load(tree).profile)
    if event == "reboot":
        reboot(tree)
    elif event == "lock_lost":
        fall_back(tree, model)
    else:
        locked = event == "wrong_mode_locked"
        set_mode(tree, model, 1 if locked else 0, locked=locked)


def _settle(tree: Path, faults: Faults) -> None:
    state = load(tree)
    model = model_of(state.profile)
    now_s = time.time()
    if faults.lock_lost:
        fall_back(tree, model)
    state = _drifted(tree, state, faults, model, now_s)
    busy = faults.gpu_busy or _is_loaded(tree)
    passed_s = max(0.0, now_s - state.settled_s)
    state = aged(state, faults, model, now_s, gpu_busy=busy)
    running = settle_clocks(tree, model, faults, busy=busy, hottest_c=hottest_c(state, model, faults))
    state = msgspec.structs.replace(state, history=counted(state.history, model, running, passed_s))
    for clock in model.clocks:
        if clock.folder in state.history:
            put(tree, f"{clock.folder}/trans_stat", trans_stat(clock, state.history[clock.folder]))
    settle_health(tree, model, faults, state)
    _marks(tree, model, faults)
    save(tree, state)


def _drifted(tree: Path, state: BoardState, faults: Faults, model: BoardModel, now_s: float) -> BoardState:
    """Let a lock be lost once, some time after that fault was switched on."""
    since_ns = fault_file.written_ns(tree)
    if faults.lock_lost_after_s is None or state.drift_ns == since_ns:
        return state
    if now_s - since_ns / 1e9 < faults.lock_lost_after_s:
        return state
    fall_back(tree, model)
    return msgspec.structs.replace(state, drift_ns=since_ns)


def _is_loaded(tree: Path) -> bool:
    """Whether a program keeps the GPU busy: it has left its process id, and lives."""
    loaded = False
    for mark in os.scandir(tree / "etc/edgelab/busy"):
        # Empty for one that was killed and not yet waited for; another one's when its number was given away.
        if b"gpu-load" in _command_line(mark.name):
            loaded = True
        else:
            Path(mark.path).unlink(missing_ok=True)
    return loaded


def _command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _marks(tree: Path, model: BoardModel, faults: Faults) -> None:
    """Tell the tools of the tree what is wrong, by files that they look for."""
    put(tree, "etc/edgelab/sudo", f"{faults.sudo}\n")
    put(tree, "etc/edgelab/clock_offset", f"{faults.clock_offset_s}\n")
    wanted = {
        "hung": faults.hung_tool,
        "reboot_prompt": faults.reboot_prompt,
        "mode_write_failed": faults.mode_write_failed,
        "governor_refused": faults.governor_refused,
        "full": faults.free_disk_kib == 0,
    }
    for name, on in wanted.items():
        if on:
            put(tree, f"etc/edgelab/{name}", "")
        elif text_of(tree, f"etc/edgelab/{name}") is not None:
            (tree / "etc/edgelab" / name).unlink(missing_ok=True)
    for name in ("proc/device-tree/model", "etc/edgelab/properties"):
        if name in model.files:
            said = model.files[name]
            odd = said.replace("Phone", f"{_ODD}Phone") if name.endswith("properties") else _ODD + said
            put(tree, name, odd if faults.odd_bytes else said)
    _dangling(tree, faults.dangling)


def _dangling(tree: Path, on: bool) -> None:
    zone = tree / "sys/class/thermal/thermal_zone90"
    if on and not zone.exists():
        zone.mkdir(parents=True)
        for name in ("type", "temp"):
            (zone / name).symlink_to("gone")
    elif not on and zone.exists():
        for name in ("type", "temp"):
            (zone / name).unlink(missing_ok=True)
        zone.rmdir()
