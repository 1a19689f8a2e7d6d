"""Device profiles: what is known of a device family before any device of it is read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from edgelab.errors import UsageError

FamilyName = Literal["linux", "jetson", "rk3588", "android"]


class Peaks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the device can do at best; None where no source gives it. The roofline is drawn from these.

    `cache_mib` is what all caches between the memory and the cores hold together, at most.
    """

    compute_gflops: float | None = None
    bandwidth_gb_s: float | None = None
    cache_mib: float | None = None
    memory_gib: float | None = None


class ClockPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What clocks have to be for a measurement to count; None or empty asks for nothing.

    `lock` says whether EdgeLab may set clocks on such a device at all. `gpu_units` is how many processing
    clusters have to be powered. `relock` allows to lock again when the lock is lost in a session.
    `cpu_hz` is the clock of the fastest CPU cluster. Where chips of one kind end at different clocks,
    `cpu_at_max` and `memory_at_max` ask for the highest step of each cluster and of the memory instead.
    `cpu_governor` is the governor that each cluster has to run under.
    """

    lock: bool = False
    relock: bool = True
    power_mode: str = ""
    gpu_hz: int | None = None
    gpu_units: int | None = None
    cpu_hz: int | None = None
    cpu_at_max: bool = False
    cpu_governor: str = ""
    memory_hz: int | None = None
    memory_at_max: bool = False
    tolerance: float = 0.01


class HealthLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """From where on a device is not fit to measure: hotter, busier, fuller or emptier than these.

    `load_1min` is in busy cores; `load_per_core` is its share of the cores where their number differs.
    """

    temperature_c: float | None = None
    load_1min: float | None = None
    load_per_core: float | None = None
    gpu_load_percent: float | None = None
    memory_available_mib: int | None = 512
    disk_free_mib: int | None = 1024
    battery_percent: float | None = None
    clock_offset_s: float | None = 300.0


class ThrottleRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Throttle counters: any growth of one in `fail` fails; one in `rates` may grow so much a second."""

    fail: tuple[str, ...] = ()
    rates: dict[str, float] = {}


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file of device_profiles/.

    `family` names the driver, `backend` the kernel adapter, `target` is TVM's target (empty: the machine's
    own CPU, found when it is asked). `required` names checks that must be answered with yes; `load_argv` is
    a command that keeps the GPU busy for some seconds, `big_cpus` the cores that programs are pinned to
    (empty: all). `identity` are words of which a board's own model, chip or machine name has to contain one,
    in any case (empty: any board will do). `lease` is the path of the lease's lock file, relative to the
    login folder where the board has no /tmp. `hardware_text` is for a model.
    """

    title: str
    family: FamilyName = "linux"
    identity: tuple[str, ...] = ()
    backend: str
    target: dict[str, Any] = {}
    peaks: Peaks = Peaks()
    clocks: ClockPolicy = ClockPolicy()
    limits: HealthLimits = HealthLimits()
    throttle: ThrottleRules = ThrottleRules()
    required: tuple[str, ...] = ("reachable", "lease")
    load_argv: tuple[str, ...] = ()
    big_cpus: tuple[int, ...] = ()
    lease: str = "/tmp/edgelab.lease"
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
