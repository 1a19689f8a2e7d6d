"""Builds the tree of a simulated board: nodes as they are at boot, and the stand-in tools."""

from __future__ import annotations

import secrets
import shutil
import time
import uuid
from pathlib import Path

import msgspec

from edgelab.drivers.simulated import events
from edgelab.drivers.simulated.board_model import ClockModel
from edgelab.drivers.simulated.board_state import BoardState, load, save
from edgelab.drivers.simulated.environment import HOME, lease_path
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.faults import write as write_faults
from edgelab.drivers.simulated.models import model_of, version_of
from edgelab.drivers.simulated.node_file import forget, put, text_of
from edgelab.drivers.simulated.orin import CONF, STATUS

__all__ = ["BoardState", "boot", "create", "load", "put", "remove", "save"]


def create(tree: Path, profile: str) -> None:
    """Make a board's tree, freshly booted, unless it is there. Raises OSError.

    A tree that another version of EdgeLab made is made anew; its home stays, with the runtime that was sent.
    """
    try:
        if load(tree).version == version_of(profile):
            return
    except (FileNotFoundError, msgspec.DecodeError):
        pass
    model = model_of(profile)
    for folder in ("bin", "etc", "proc", "sys", "usr", "var", "system"):
        shutil.rmtree(tree / folder, ignore_errors=True)
    forget(tree)
    for folder in ("etc/edgelab/busy", events.FOLDER, HOME, "tmp"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    for path, script in model.tools.items():
        put(tree, path, f"#!/bin/sh{script}")
        (tree / path).chmod(0o755)
    for path, target in model.links.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).symlink_to(Path(*[".."] * path.count("/")) / target)
    write_faults(tree, Faults())
    boot(tree, profile)


def boot(tree: Path, profile: str, *, uptime_s: float | None = None) -> None:
    """Put all nodes as they are after booting; what survives that (the power mode, the home) stays.

    Without `uptime_s` the board was booted some hours ago.
    """
    model = model_of(profile)
    for path, text in model.files.items():
        if path != STATUS or not (tree / STATUS).exists():
            put(tree, path, text)
    for clock in model.clocks:
        _put_clock(tree, clock, mode_cap(tree, clock))
    for number, zone in enumerate(model.zones_c):
        put(tree, f"sys/class/thermal/thermal_zone{number}/type", f"{zone}\n")
    for number, kind in enumerate(model.cooling):
        put(tree, f"sys/class/thermal/cooling_device{number}/type", f"{kind}\n")
    lease_path(tree, profile).unlink(missing_ok=True)
    now_s = time.time()
    boot_s = now_s - (3600 + secrets.randbelow(86_400) if uptime_s is None else uptime_s)
    version, boot_id = version_of(profile), str(uuid.uuid4())
    save(tree, BoardState(profile=profile, version=version, boot_s=boot_s, boot_id=boot_id, settled_s=now_s))


def mode_value(tree: Path, name: str) -> int | None:
    """Return what a Jetson's power mode sets `name` to, such as `GPU MAX_FREQ`; None where it sets nothing."""
    status, conf = text_of(tree, STATUS), text_of(tree, CONF)
    if status is None or conf is None:
        return None
    mode = int(status.partition(":")[2].split()[0])
    section = conf.partition(f"POWER_MODEL ID={mode} ")[2].partition("\n\n")[0]
    for line in section.splitlines():
        if line.startswith(f"{name} "):
            return int(line.split()[-1])
    return None


def mode_cap(tree: Path, clock: ClockModel) -> int | None:
    """Return the upper limit that a Jetson's power mode sets for a clock, in its node's unit; None for none."""
    cap = mode_value(tree, f"{clock.mode_name} MAX_FREQ") if clock.mode_name else None
    return None if cap is None or cap < 0 else cap


def _put_clock(tree: Path, clock: ClockModel, cap: int | None) -> None:
    low, high = clock.steps_hz[0] // clock.unit_hz, clock.steps_hz[-1] // clock.unit_hz
    put(tree, clock.node("governor"), f"{clock.governor}\n")
    put(tree, clock.node("min_freq"), f"{low}\n")
    put(tree, clock.node("max_freq"), f"{cap or high}\n")
    put(tree, clock.node("cur_freq"), f"{low}\n")
    if clock.kind == "cpu":
        put(tree, f"{clock.folder}/cpuinfo_min_freq", f"{low}\n")
        put(tree, f"{clock.folder}/cpuinfo_max_freq", f"{high}\n")
        put(tree, f"{clock.folder}/related_cpus", " ".join(map(str, clock.cpus)) + "\n")
        return
    put(tree, f"{clock.folder}/name", f"{Path(clock.folder).name}\n")
    put(tree, f"{clock.folder}/polling_interval", "50\n")
    put(tree, f"{clock.folder}/device/of_node/name", f"{clock.tree_name}\0")
    if clock.set_point is not None:
        put(tree, clock.set_point, f"{low}\n")


def remove(tree: Path) -> None:
    """Throw a board away."""
    shutil.rmtree(tree, ignore_errors=True)
    forget(tree)
