"""Builds the tree of a simulated board: nodes as they are at boot, and the stand-in tools."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import time
import uuid
from pathlib import Path

import msgspec

from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.faults import write as write_faults
from edgelab.drivers.simulated.models import MODELS, BoardModel, ClockModel

STATE = "etc/edgelab/state.json"


class BoardState(msgspec.Struct, frozen=True, kw_only=True):
    """What a board remembers between commands. Times are seconds since the epoch of this machine."""

    profile: str
    boot_s: float
    boot_id: str
    settled_s: float
    throttles: float = 0.0
    busy_ticks: float = 1000.0
    all_ticks: float = 100_000.0


def create(tree: Path, profile: str) -> None:
    """Make a board's tree, freshly booted, unless it is there. Raises OSError."""
    if (tree / STATE).exists():
        return
    model = MODELS[profile]()
    for folder in ("etc/edgelab", "home/lab", "tmp", "proc/sys/kernel/random", "sys/class/thermal"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    for path, script in model.tools.items():
        put(tree, path, f"#!/bin/sh{script}")
        (tree / path).chmod(0o755)
    write_faults(tree, Faults())
    boot(tree, profile, model)


def boot(tree: Path, profile: str, model: BoardModel) -> None:
    """Put all nodes as they are after booting; what survives a reboot (the power mode, the home) stays."""
    kept = "var/lib/nvpmodel/status"
    for path, text in model.files.items():
        if path != kept or not (tree / kept).exists():
            put(tree, path, text)
    for clock in model.clocks:
        _put_clock(tree, clock, _cap_hz(tree) if clock.kind == "gpu" else None)
    for number, (zone, celsius) in enumerate(model.zones_c.items()):
        put(tree, f"sys/class/thermal/thermal_zone{number}/type", f"{zone}\n")
        put(tree, f"sys/class/thermal/thermal_zone{number}/temp", f"{int(celsius * 1000)}\n")
    (tree / "tmp/edgelab.lease").unlink(missing_ok=True)
    now_s = time.time()
    uptime_s = 3600 + secrets.randbelow(86_400)
    state = BoardState(profile=profile, boot_s=now_s - uptime_s, boot_id=str(uuid.uuid4()), settled_s=now_s)
    save(tree, state)


def _cap_hz(tree: Path) -> int | None:
    """Return what a Jetson's power mode allows its GPU, None where nothing does."""
    status, conf = tree / "var/lib/nvpmodel/status", tree / "etc/nvpmodel.conf"
    if not status.exists():
        return None
    mode = int(status.read_text().partition(":")[2])
    _, _, section = conf.read_text().partition(f"POWER_MODEL ID={mode} ")
    cap = int(section.partition("GPU MAX_FREQ ")[2].split()[0])
    return None if cap < 0 else cap


def _put_clock(tree: Path, clock: ClockModel, cap_hz: int | None) -> None:
    low, high = clock.steps_hz[0] // clock.unit_hz, (cap_hz or clock.steps_hz[-1]) // clock.unit_hz
    prefix = "scaling_" if clock.kind == "cpu" else ""
    put(tree, f"{clock.folder}/{prefix}governor", f"{clock.governor}\n")
    put(tree, f"{clock.folder}/{prefix}min_freq", f"{low}\n")
    put(tree, f"{clock.folder}/{prefix}max_freq", f"{high}\n")
    put(tree, f"{clock.folder}/{prefix}cur_freq", f"{low}\n")
    if clock.kind == "cpu":
        put(tree, f"{clock.folder}/cpuinfo_max_freq", f"{high}\n")
        put(tree, f"{clock.folder}/related_cpus", " ".join(map(str, clock.cpus)) + "\n")
    elif "userspace" in clock.governors:
        put(tree, f"{clock.folder}/userspace/set_freq", f"{low}\n")


def put(tree: Path, path: str, text: str) -> None:
    """Write one file of the tree, unless it holds that already; whoever reads it sees the old or the new text."""
    place = tree / path
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if place.read_text() == text:
            return
    place.parent.mkdir(parents=True, exist_ok=True)
    # Not beside the node: a pattern over its folder would find it.
    descriptor, name = tempfile.mkstemp(dir=tree)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    Path(name).chmod(0o644)
    Path(name).replace(place)


def load(tree: Path) -> BoardState:
    """Return what the board in `tree` remembers."""
    return msgspec.json.decode((tree / STATE).read_bytes(), type=BoardState)


def save(tree: Path, state: BoardState) -> None:
    """Keep what the board remembers."""
    put(tree, STATE, msgspec.json.encode(state).decode())


def remove(tree: Path) -> None:
    """Throw a board away."""
    shutil.rmtree(tree, ignore_errors=True)
