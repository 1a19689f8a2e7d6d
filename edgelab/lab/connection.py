"""Opens a device of the lab: the transport its entry asks for, with its family and profile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec

from edgelab.drivers.families.registry import family_for
from edgelab.drivers.local import LocalTransport
from edgelab.drivers.probe_script import under
from edgelab.drivers.profile import Profile, load_profile
from edgelab.drivers.ssh.address import DEFAULT_CONFIG, SshAddress
from edgelab.drivers.transport import Transport
from edgelab.home import Home
from edgelab.lab.board import Board
from edgelab.lab.device import Device
from edgelab.lab.inventory import placed

_SIMULATED_LOAD = ("gpu-load", "1")
"""The stand-in of simulated boards for a program that keeps the GPU busy."""


def profile_of(device: Device) -> Profile:
    """Return the profile of a device. Raises `UsageError` when it is absent or wrong."""
    profile = load_profile(device.profile)
    if device.root:
        # The lock file is a plain argument of a shell, which no transport moves under the root.
        profile = msgspec.structs.replace(profile, lease=under(device.root, profile.lease))
    if device.simulated:
        profile = msgspec.structs.replace(profile, load_argv=_SIMULATED_LOAD)
    return profile


def is_this_machine(device: Device) -> bool:
    """Whether a device is reached without a link."""
    return not device.host and not device.simulated


@contextlib.asynccontextmanager
async def open_board(
    device: Device, home: Home, *, password: str | None = None, trust_new_key: bool = False
) -> AsyncIterator[Board]:
    """Connect to a device for as long as the block runs.

    Raises `LinkFailure` when it cannot be reached, `UsageError` when its profile is wrong.
    """
    there = device if is_this_machine(device) else await asyncio.to_thread(placed, device, home)
    profile = profile_of(there)
    transport = await _transport(there, profile, home, password, trust_new_key)
    try:
        yield Board(there, profile, family_for(profile), transport)
    finally:
        await transport.close()


async def _transport(
    device: Device, profile: Profile, home: Home, password: str | None, trust_new_key: bool
) -> Transport:
    if is_this_machine(device):
        folder = home.cache / "devices" / device.name
        return LocalTransport(folder, device.name, lease=folder / "lease")
    # Light commands on this machine alone need no asyncssh.
    from edgelab.drivers.ssh.transport import SshTransport

    address = _address(device, profile)
    return await SshTransport.connect(address, password=password, trust_new_key=trust_new_key)


def _address(device: Device, profile: Profile) -> SshAddress:
    return SshAddress(
        device=device.name,
        host=device.host,
        port=device.port,
        user=device.user,
        key=device.key,
        known_hosts=device.known_hosts,
        jump=device.jump,
        sudo=device.sudo,
        root=device.root,
        lease=profile.lease,
        # A simulated board is nobody's alias.
        config=None if device.simulated else DEFAULT_CONFIG,
    )
