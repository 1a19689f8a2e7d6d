"""Which class drives a family of devices."""

from __future__ import annotations

from edgelab.drivers.families.android import AndroidFamily
from edgelab.drivers.families.jetson import JetsonFamily
from edgelab.drivers.families.linux import LinuxFamily
from edgelab.drivers.families.rk3588 import Rk3588Family
from edgelab.drivers.family import Family
from edgelab.drivers.profile import FamilyName, Profile

_FAMILIES: dict[FamilyName, type[JetsonFamily | Rk3588Family | AndroidFamily | LinuxFamily]] = {
    "jetson": JetsonFamily,
    "rk3588": Rk3588Family,
    "android": AndroidFamily,
    "linux": LinuxFamily,
}


def family_for(profile: Profile) -> Family:
    """Return the family that a profile names, under that profile."""
    return _FAMILIES[profile.family](profile)
