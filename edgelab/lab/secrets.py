"""Where sudo's password comes from: the keyring, or the environment. It never leaves this process by itself."""

from __future__ import annotations

import functools
import os

from edgelab.lab.device import Device

PASSWORD_VARIABLE = "EDGELAB_SUDO_PASSWORD"
_SERVICE = "edgelab"


def sudo_password(device: Device) -> str | None:
    """Return the sudo password of a device, None where it needs none or none is known."""
    if device.sudo != "password":
        return None
    return _from_keyring(device.name) or _from_environment()


@functools.cache
def _from_environment() -> str | None:
    """Take the password out of the environment: what this process starts must not inherit it."""
    return os.environ.pop(PASSWORD_VARIABLE, "") or None


def _from_keyring(name: str) -> str | None:
    try:
        import keyring  # pyright: ignore[reportMissingImports]
        from keyring.errors import KeyringError  # pyright: ignore[reportMissingImports]
    except ImportError:
        # An optional extra; without it the environment or a prompt has to do.
        return None
    try:
        return keyring.get_password(_SERVICE, name)
    except KeyringError:
        # No keyring is running here (a server, a detached run).
        return None
