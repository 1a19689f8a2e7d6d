"""The inventory: the devices of this lab. The built-in lab is this machine as `local`."""

from __future__ import annotations

import difflib
import platform
from collections.abc import Sequence

import msgspec

from edgelab.errors import UsageError
from edgelab.lab.profiles import load_profile


class Device(msgspec.Struct, frozen=True):
    """One device. `host` is empty for this machine; rows of simulated devices never mix with real ones."""

    name: str
    profile: str
    backend: str
    title: str = ""
    host: str = ""
    simulated: bool = False


def built_in() -> tuple[Device, ...]:
    """Return the devices of the built-in lab. Raises `UsageError` where this machine has no profile."""
    profile_name = f"linux-{platform.machine()}"
    profile = load_profile(profile_name)
    return (Device(name="local", profile=profile_name, backend=profile.backend, title=profile.title),)


def find(name: str, devices: Sequence[Device]) -> Device:
    """Return the device called `name`. Raises `UsageError` that offers the nearest names."""
    for device in devices:
        if device.name == name:
            return device
    names = [device.name for device in devices]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:3]
    raise UsageError(f"There is no device {name!r} in this lab.", advice=f"Nearest: {', '.join(near)}.")
