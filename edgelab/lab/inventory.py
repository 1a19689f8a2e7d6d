"""The inventory: the devices of this lab. The built-in lab is this machine as `local`."""

from __future__ import annotations

import difflib
import platform
from collections.abc import Sequence
from typing import Literal

import msgspec

from edgelab.drivers.profile import load_profile
from edgelab.errors import UsageError

Sudo = Literal["none", "passwordless", "password"]


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One device. `host` is empty for this machine; rows of simulated devices never mix with real ones.

    `user`, `port`, `key`, `known_hosts` and `jump` are empty (None) where ~/.ssh/config decides. `sudo`
    says how root is reached there. `root` is a folder on the board under which its nodes and tools lie:
    only boards of fake nodes have one.
    """

    name: str
    profile: str
    backend: str
    title: str = ""
    host: str = ""
    port: int | None = None
    user: str = ""
    key: str = ""
    known_hosts: str = ""
    jump: str = ""
    sudo: Sudo = "passwordless"
    root: str = ""
    notes: str = ""
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
