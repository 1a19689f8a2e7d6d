"""States of boards made by hand, right in everything until a test changes something."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from edgelab.drivers.check import Check
from edgelab.drivers.device_state import ClockDomain, DeviceState, PowerMode, Temperature
from edgelab.drivers.profile import ClockPolicy, HealthLimits, Profile, ThrottleRules

TEXTS = Path(__file__).parents[2] / "data" / "device_texts"
GPU_HZ = 1_300_500_000
CPU_HZ = 2_201_600_000
MEMORY_HZ = 3_199_000_000

PROFILE = Profile(
    title="Test board",
    family="jetson",
    identity=("AGX Orin",),
    backend="cuda",
    clocks=ClockPolicy(
        lock=True, power_mode="MAXN", gpu_hz=GPU_HZ, gpu_units=8, cpu_hz=CPU_HZ, memory_hz=MEMORY_HZ
    ),
    limits=HealthLimits(
        temperature_c=70.0,
        load_1min=2.0,
        gpu_load_percent=20.0,
        memory_available_mib=4096,
        battery_percent=30.0,
    ),
    throttle=ThrottleRules(fail=("oc1", "oc2"), rates={"oc3": 20.0}),
)


def clock(kind: str, freq_hz: int, **changes: object) -> ClockDomain:
    """Return a clock that is held at `freq_hz`."""
    held = ClockDomain(
        name={"gpu": "17000000.gpu", "cpu": "policy0", "memory": "emc"}[kind],
        kind=kind,  # type: ignore[arg-type]
        current_hz=freq_hz,
        min_hz=freq_hz,
        max_hz=freq_hz,
        available_hz=(306_000_000, freq_hz),
        source=f"/sys/{kind}",
    )
    return msgspec.structs.replace(held, **changes)


GPU, CPU, MEMORY = clock("gpu", GPU_HZ), clock("cpu", CPU_HZ), clock("memory", MEMORY_HZ)

GOOD = DeviceState(
    read_s=1000.0,
    round_trip_s=0.05,
    board_time_s=1000.2,
    boot_id="boot-1",
    uptime_s=5000.0,
    model="NVIDIA Jetson AGX Orin Developer Kit",
    identity=("NVIDIA Jetson AGX Orin Developer Kit",),
    cores=12,
    power_mode=PowerMode("MAXN", 0),
    power_modes=(PowerMode("MAXN", 0), PowerMode("MODE_30W", 2)),
    clocks=(GPU, CPU, MEMORY),
    clocks_locked=True,
    gpu_units=8,
    temperatures=(Temperature("tj-thermal", 51.0), Temperature("cpu-thermal", 49.0)),
    throttle_counts=(("oc1", 0), ("oc2", 3), ("oc3", 812)),
    throttling=False,
    load_1min=0.2,
    cpu_ticks=(1_000, 100_000),
    memory_total_bytes=61 << 30,
    memory_available_bytes=55 << 30,
    disk_total_bytes=60 << 30,
    disk_free_bytes=30 << 30,
    battery_percent=80.0,
    lease_free=True,
    worker_runtime="ab" * 32,
)
EARLIER = msgspec.structs.replace(GOOD, read_s=999.0, uptime_s=4999.0)


def changed(state: DeviceState = GOOD, **changes: object) -> DeviceState:
    """Return a state with some fields otherwise."""
    return msgspec.structs.replace(state, **changes)


def with_clock(other: ClockDomain, state: DeviceState = GOOD) -> DeviceState:
    """Return a state whose clock of that kind is `other`."""
    return changed(state, clocks=tuple(other if one.kind == other.kind else one for one in state.clocks))


def failed(found: Mapping[str, Check]) -> list[str]:
    """Return the names of the checks that failed."""
    return [check.name for check in found.values() if check.ok is False]


def source_of(check: Check) -> str:
    """Return which file or command a check has its evidence from."""
    return "" if check.evidence is None else check.evidence.source


def check_of(checks: list[Check] | tuple[Check, ...], name: str) -> Check:
    """Return the check of that name, which has to be there once."""
    (found,) = [check for check in checks if check.name == name]
    return found
