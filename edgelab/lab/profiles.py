"""Device profiles: what is known of a device family before any device of it is read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from edgelab.errors import UsageError


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of device_profiles/. `backend` names the kernel adapter; `hardware_text` is for a model."""

    title: str
    backend: str
    hardware_text: str = ""


def profiles_folder() -> Path:
    """Return the folder of the device profiles, beside the package in a checkout."""
    return Path(__file__).resolve().parents[2] / "device_profiles"


def load_profile(name: str, folder: Path | None = None) -> Profile:
    """Read the profile `name`. Raises `UsageError` that names the file when it is absent or wrong."""
    path = (folder or profiles_folder()) / f"{name}.toml"
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), type=Profile)
    except FileNotFoundError as error:
        raise UsageError(f"There is no device profile {name!r} ({path}).") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"The device profile {path} is wrong: {error}.") from error
