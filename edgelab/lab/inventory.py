"""The inventory: the devices of this lab. Without a lab file it is this machine and simulated boards."""

from __future__ import annotations

import difflib
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from edgelab.drivers.profile import load_profile
from edgelab.errors import UsageError
from edgelab.home import Home
from edgelab.lab.device import Device
from edgelab.lab.lab_file import SIMULATED_HOST, THIS_MACHINE, Entry, device_of, read_lab_file

LAB_VARIABLE = "EDGELAB_LAB"

SIMULATED = (
    ("sim-orin", "jetson-agx-orin-64gb"),
    ("sim-rk3588", "rk3588"),
    ("sim-phone", "snapdragon-8-gen-3"),
)
"""The simulated boards of the built-in lab: name and profile."""


def lab_path(chosen: str | Path | None = None) -> Path | None:
    """Return the lab file: `chosen`, else `EDGELAB_LAB`, else the user's own where there is one."""
    if chosen or (chosen := os.environ.get(LAB_VARIABLE)):
        return Path(chosen).expanduser().absolute()
    path = own_lab_path()
    return path if path.exists() else None


def own_lab_path() -> Path:
    """Return where the user's own lab file lies, or would."""
    import platformdirs

    return Path(platformdirs.user_config_dir("edgelab", appauthor=False)) / "lab.toml"


def lab_devices(lab_file: Path | None) -> tuple[Device, ...]:
    """Return this machine and the devices of a lab file; without one, the built-in lab.

    Raises `UsageError` that names file, line and key.
    """
    if lab_file is None:
        return built_in()
    return (this_machine(), *read_lab_file(lab_file))


def this_machine() -> Device:
    """Return the device `local`. Raises `UsageError` where this machine has no profile."""
    profile_name = f"linux-{platform.machine()}"
    profile = load_profile(profile_name)
    return Device(name=THIS_MACHINE, profile=profile_name, backend=profile.backend, title=profile.title)


def built_in() -> tuple[Device, ...]:
    """Return the devices of the built-in lab."""
    boards = (Entry(name=name, profile=profile, host=SIMULATED_HOST) for name, profile in SIMULATED)
    return (this_machine(), *(device_of(entry, Path()) for entry in boards))


def placed(device: Device, home: Home) -> Device:
    """Return a simulated device with the place where its board is served now; its server is started if need be.

    Blocks until the board answers. Raises `NotReadyError` when that does not happen.
    """
    if not device.simulated:
        return device
    from edgelab.drivers.simulated.launcher import ensure_running

    board = ensure_running(home.root / "simulated", device.name, device.profile)
    return Device(
        name=device.name,
        profile=device.profile,
        backend=device.backend,
        title=device.title,
        host=board.host,
        port=board.port,
        user=board.user,
        key=board.key,
        known_hosts=board.known_hosts,
        sudo="passwordless",
        root=board.root,
        notes=device.notes,
        simulated=True,
    )


def find(name: str, devices: Sequence[Device]) -> Device:
    """Return the device called `name`. Raises `UsageError` that offers the nearest names."""
    for device in devices:
        if device.name == name:
            return device
    names = [device.name for device in devices]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:3]
    raise UsageError(f"There is no device {name!r} in this lab.", advice=f"Nearest: {', '.join(near)}.")
