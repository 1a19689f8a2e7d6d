"""Fixed devices and views of them for the tests of the Lab screen: one board of each kind, in any state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from edgelab.drivers.check import Check, CheckReport, Evidence, LockReport
from edgelab.drivers.device_state import (
    ClockDomain,
    DeviceState,
    LeaseHolder,
    PowerMode,
    SavedClocks,
    Temperature,
)
from edgelab.lab.board_view import BoardView
from edgelab.lab.device import Device
from edgelab.lab.lab_file import SIMULATED_HOST, Entry, device_of
from tests.support.ui_data import GIB, LOCAL, NOW_S

_MHZ = 1_000_000
FINGERPRINT = "ssh-ed25519 SHA256:8c1OuJ2kWbZ1Qy4rV0mQy7cJm1xj4lV1m1F3gEo2v5A"


def device(name: str, profile: str, host: str = SIMULATED_HOST, **fields: Any) -> Device:
    """Return a device as a lab file would have it."""
    made = device_of(Entry(name=name, profile=profile, host=host, **fields), Path("/lab"))
    # Whether this machine has OpenCL must not show in pictures.
    return msgspec.structs.replace(made, backend="llvm") if made.simulated else made


SIM_ORIN = device("sim-orin", "jetson-agx-orin-64gb")
SIM_RK3588 = device("sim-rk3588", "rk3588")
SIM_PHONE = device("sim-phone", "snapdragon-8-gen-3")
BUILT_IN = (LOCAL, SIM_ORIN, SIM_RK3588, SIM_PHONE)

ORIN_HZ = 1_300_500_000


def orin_state(
    *, gpu_hz: int = ORIN_HZ, locked: bool = True, age_s: float = 0.4, **fields: Any
) -> DeviceState:
    """Return a look at a Jetson AGX Orin."""
    read_s = NOW_S - age_s
    cpus = tuple(
        ClockDomain(
            name=f"policy{number}",
            kind="cpu",
            current_hz=2_201_600_000 if locked else 729_600_000,
            min_hz=2_201_600_000 if locked else 729_600_000,
            max_hz=2_201_600_000,
            governor="schedutil",
            source=f"/sys/devices/system/cpu/cpufreq/policy{number}",
        )
        for number in (0, 4, 8)
    )
    gpu = ClockDomain(
        name="17000000.gpu",
        kind="gpu",
        current_hz=gpu_hz,
        min_hz=gpu_hz if locked else 306 * _MHZ,
        max_hz=ORIN_HZ,
        governor="nvhost_podgov",
        load_percent=0.0,
        source="/sys/class/devfreq/17000000.gpu",
    )
    zones = (("cpu-thermal", 44.5), ("gpu-thermal", 43.0), ("tj-thermal", 46.2))
    state = DeviceState(
        read_s=read_s,
        round_trip_s=0.041,
        board_time_s=read_s,
        boot_id="1696a0de",
        uptime_s=66_645.0,
        model="NVIDIA Jetson AGX Orin Developer Kit",
        system="JetPack 6.2 (L4T 36.4.3)",
        cores=12,
        power_mode=PowerMode("MAXN", 0) if locked else PowerMode("MODE_50W", 3),
        clocks=(gpu, *cpus),
        temperatures=tuple(
            Temperature(zone, celsius, f"/sys/class/thermal/thermal_zone{number}/temp")
            for number, (zone, celsius) in enumerate(zones)
        ),
        throttle_counts=(("oc1", 0), ("oc2", 0), ("oc3", 0)),
        load_1min=0.05,
        memory_total_bytes=61 * GIB,
        memory_available_bytes=53 * GIB,
        disk_total_bytes=58 * GIB,
        disk_free_bytes=38 * GIB,
        lease_free=True,
        saved=SavedClocks(family="jetson", owner="ada@bench", saved_s=NOW_S - 250, boot_id="1696a0de")
        if locked
        else None,
        worker_runtime="5f0c2b7a91d3e4f6" * 4,
        unknown=(
            ("throttling", "/sys/class/thermal/cooling_device*/cur_state is not on this board"),
            ("memory_clock", "only a full check runs /usr/bin/jetson_clocks --show"),
        ),
        evidence=(
            ("power_mode", Evidence("/var/lib/nvpmodel/status", "pmode:0000", read_s)),
            ("throttling", Evidence("/sys/class/hwmon/hwmon3/oc*_event_cnt", "oc1 0, oc2 0, oc3 0", read_s)),
            ("load", Evidence("/proc/loadavg", "0.05 0.05 0.05 1/321 4242", read_s)),
            ("memory", Evidence("/proc/meminfo", "MemTotal: 64349000 kB", read_s)),
            ("disk", Evidence("df -Pk .", "/dev/mmcblk0p1 61255492", read_s)),
            ("lease", Evidence("the lease's lock file", "free", read_s)),
            ("identity", Evidence("/proc/device-tree/model", "NVIDIA Jetson AGX Orin", read_s)),
        ),
    )
    return msgspec.structs.replace(state, **fields)


def rk3588_state(*, age_s: float = 0.6, **fields: Any) -> DeviceState:
    """Return a look at an RK3588 board that idles unlocked."""
    read_s = NOW_S - age_s
    clocks = (
        ClockDomain(
            name="fb000000.gpu",
            kind="gpu",
            current_hz=300 * _MHZ,
            min_hz=300 * _MHZ,
            max_hz=1000 * _MHZ,
            governor="simple_ondemand",
            source="/sys/class/devfreq/fb000000.gpu",
        ),
        ClockDomain(
            name="dmc",
            kind="memory",
            current_hz=528 * _MHZ,
            min_hz=528 * _MHZ,
            max_hz=2112 * _MHZ,
            governor="dmc_ondemand",
            source="/sys/class/devfreq/dmc",
        ),
        ClockDomain(
            name="policy4",
            kind="cpu",
            current_hz=408 * _MHZ,
            min_hz=408 * _MHZ,
            max_hz=2352 * _MHZ,
            governor="ondemand",
            source="/sys/devices/system/cpu/cpufreq/policy4",
        ),
    )
    state = DeviceState(
        read_s=read_s,
        round_trip_s=0.035,
        model="Radxa ROCK 5B",
        cores=8,
        clocks=clocks,
        temperatures=(Temperature("soc-thermal", 43.0, "/sys/class/thermal/thermal_zone0/temp"),),
        throttling=False,
        load_1min=2.31,
        memory_total_bytes=15 * GIB,
        memory_available_bytes=13 * GIB,
        disk_total_bytes=58 * GIB,
        disk_free_bytes=GIB,
        lease_free=True,
        unknown=(("power_mode", "this board has no power modes"),),
        evidence=(("load", Evidence("/proc/loadavg", "2.31 2.05 1.80 3/321 4242", read_s)),),
    )
    return msgspec.structs.replace(state, **fields)


def phone_state(*, age_s: float = 0.8) -> DeviceState:
    """Return a look at a phone, which shows little."""
    read_s = NOW_S - age_s
    return DeviceState(
        read_s=read_s,
        round_trip_s=0.06,
        cores=8,
        clocks=(
            ClockDomain(
                name="policy7",
                kind="cpu",
                current_hz=480 * _MHZ,
                min_hz=480 * _MHZ,
                max_hz=3302 * _MHZ,
                governor="walt",
                source="/sys/devices/system/cpu/cpufreq/policy7",
            ),
        ),
        temperatures=(Temperature("cpuss-0", 39.5, "/sys/class/thermal/thermal_zone1/temp"),),
        load_1min=0.4,
        memory_total_bytes=15 * GIB,
        memory_available_bytes=13 * GIB,
        disk_total_bytes=230 * GIB,
        disk_free_bytes=120 * GIB,
        battery_percent=82.0,
        battery_charging=True,
        lease_free=True,
        unknown=(
            ("gpu_clock", "/sys/class/kgsl/kgsl-3d0/gpuclk is not on this board"),
            ("throttling", "only a full check runs /system/bin/dumpsys thermalservice"),
            ("power_mode", "this board has no power modes"),
        ),
    )


def local_state() -> DeviceState:
    """Return a look at this machine."""
    return DeviceState(
        read_s=NOW_S - 0.3,
        round_trip_s=0.02,
        cores=8,
        load_1min=1.42,
        memory_total_bytes=16 * GIB,
        memory_available_bytes=11 * GIB,
        disk_total_bytes=200 * GIB,
        disk_free_bytes=21 * GIB,
        lease_free=True,
        unknown=(("cpu_clock", "/sys/devices/system/cpu/cpufreq is not on this board"),),
    )


def view(device: str, state: DeviceState | None = None, **fields: Any) -> BoardView:
    """Return a view of a device whose link is up."""
    return BoardView(device=device, state=state, **{"link": "up", **fields})


GOOD = tuple(
    Check(name=name, ok=True, value=value, evidence=Evidence(source, value, NOW_S - 30))
    for name, value, source in (
        ("reachable", "41 ms", "ssh"),
        ("identity", "NVIDIA Jetson AGX Orin", "/proc/device-tree/model"),
        ("sudo", "works", "sudo true"),
        ("power_mode", "MAXN", "/var/lib/nvpmodel/status"),
        ("gpu_clock", "1300.5 MHz", "/sys/class/devfreq/17000000.gpu"),
        ("temperature", "46.2 °C (tj-thermal)", "/sys/class/thermal/thermal_zone2/temp"),
        ("load", "0.05 over 1 min", "/proc/loadavg"),
        ("lease", "free", "the lease's lock file"),
    )
)
NO_RUNTIME = Check(
    name="runtime",
    ok=None,
    value="—",
    wanted="a worker runtime",
    reason="The board has no worker runtime yet; `edgelab devices bootstrap` sends one.",
)
UNLOCKED = Check(
    name="gpu_clock",
    ok=False,
    value="300 MHz",
    wanted="held at 1000 MHz",
    reason="The GPU clock is not locked: it may go from 300 MHz to 1000 MHz under governor simple_ondemand.",
    evidence=Evidence("/sys/class/devfreq/fb000000.gpu", "300000000 of 300000000 to 1000000000", NOW_S - 12),
)
BUSY = Check(
    name="load",
    ok=False,
    value="2.31 over 1 min",
    wanted="at most 2 busy cores, GPU at most 20 %",
    reason="2.31 cores are busy with something else; end it or wait.",
    evidence=Evidence("/proc/loadavg", "2.31 2.05 1.80 3/321 4242", NOW_S - 12),
)
FULL = Check(
    name="disk",
    ok=False,
    value="1.0 GiB free of 58.0 GiB",
    wanted="at least 2.0 GiB free",
    reason="Only 1.0 GiB of the disk are free; the worker and its programs need 2.0 GiB.",
    evidence=Evidence("df -Pk .", "/dev/mmcblk0p1 61255492 60206916 1048576 99% /", NOW_S - 12),
)


def report(device: str, *checks: Check, age_s: float = 12.0) -> CheckReport:
    """Return a check of a device."""
    return CheckReport(device=device, simulated=True, checks=checks, checked_s=NOW_S - age_s)


LOCK_STEPS = (
    "what the board had was stored on it",
    "clocks are stored in .edgelab/jetson_clocks-1796114724858.conf",
    "power mode MAXN (0) is in force",
    "clocks are locked by jetson_clocks",
    "read back: mode MAXN, GPU 1300.5 MHz, CPU 2201.6 MHz",
)


def orin_view(name: str = "sim-orin", **fields: Any) -> BoardView:
    """Return a Jetson that is locked and ready."""
    return view(
        name,
        **{
            "state": orin_state(),
            "lock_state": "locked",
            "gpu_target_hz": ORIN_HZ,
            "check": report(name, *GOOD, NO_RUNTIME),
            "steps": LOCK_STEPS,
            "lock": LockReport(device=name, simulated=True, locked=True, steps=LOCK_STEPS),
            **fields,
        },
    )


def rk3588_view(name: str = "sim-rk3588", **fields: Any) -> BoardView:
    """Return an RK3588 board that is not ready for three reasons."""
    return view(
        name,
        **{
            "state": rk3588_state(),
            "lock_state": "unlocked",
            "gpu_target_hz": 1000 * _MHZ,
            "check": report(name, *GOOD[:2], UNLOCKED, BUSY, FULL, NO_RUNTIME),
            **fields,
        },
    )


def built_in_views() -> list[BoardView]:
    """Return the views of the built-in lab some seconds after its start."""
    return [
        view("local", local_state()),
        view(
            "sim-orin",
            orin_state(gpu_hz=306 * _MHZ, locked=False),
            lock_state="unlocked",
            gpu_target_hz=ORIN_HZ,
        ),
        view("sim-rk3588", rk3588_state(), lock_state="unlocked", gpu_target_hz=1000 * _MHZ),
        view("sim-phone", phone_state()),
    ]


MIXED = (
    LOCAL,
    SIM_ORIN,
    SIM_RK3588,
    device("orin-bench", "jetson-agx-orin-64gb", "10.0.7.21", user="lab", notes="left shelf, own fan"),
    device("orin-roof", "jetson-agx-orin-64gb", "orin-roof.lab", user="lab", sudo="password"),
    device("rock-a", "rk3588", "10.0.7.31", user="rock"),
    device("rock-new", "rk3588", "10.0.7.32", user="rock"),
    device("rock-door", "rk3588", "10.0.7.33", user="rock"),
)

HOLDER = LeaseHolder(owner="grace@desk", purpose="run 260829-w3k9p", pid=7071, since_s=NOW_S - 1260)


def mixed_views() -> list[BoardView]:
    """Return one board in each state that matters."""
    lost = "The link to orin-bench (10.0.7.21) broke (Connection lost)."
    wrong = "rock-door (10.0.7.33): its host key is another one than before, now "
    return [
        view("local", local_state(), check=report("local", *GOOD[:2], NO_RUNTIME)),
        orin_view(),
        rk3588_view(),
        orin_view(
            "orin-bench",
            state=orin_state(age_s=95),
            link="lost",
            problem=lost,
            problem_kind="lost",
            advice="EdgeLab connects again by itself where it waits for it.",
        ),
        orin_view(
            "orin-roof",
            state=orin_state(locked=False, gpu_hz=306 * _MHZ, sudo_problem="a password is required"),
            lock_state="lost",
            check=None,
            lock=None,
            steps=(),
        ),
        rk3588_view(
            "rock-a", state=rk3588_state(age_s=21, lease=HOLDER, lease_free=False), polled=False, check=None
        ),
        view(
            "rock-new",
            link="failed",
            problem=f"rock-new (10.0.7.32): its host key was never seen: {FINGERPRINT}.",
            problem_kind="unknown_host_key",
            advice="Compare it on the board, then connect once with ssh.",
        ),
        view(
            "rock-door",
            link="failed",
            problem=f"{wrong}{FINGERPRINT}.",
            problem_kind="changed_host_key",
            advice="Somebody set the board up anew, or is in between. If it is the board: ssh-keygen -R HOST.",
        ),
    ]


def many(count: int) -> tuple[Device, ...]:
    """Return this machine and boards until there are `count` devices."""
    boards = (
        device(f"orin-{number:02}", "jetson-agx-orin-64gb", f"10.0.7.{number}") for number in range(1, count)
    )
    return (LOCAL, *boards)


def many_views(devices: tuple[Device, ...], tick: int = 0) -> list[BoardView]:
    """Return a view of each of `many` devices; another `tick` is another look at each."""
    views = [view("local", local_state())]
    for number, found in enumerate(devices[1:], 1):
        locked = number % 3 != 0
        state = orin_state(
            locked=locked,
            gpu_hz=ORIN_HZ if locked else 306 * _MHZ,
            age_s=0.1 * (number % 9) - tick,
            load_1min=round(0.03 * number + 0.01 * (tick % 50), 2),
            temperatures=(Temperature("tj-thermal", 40.0 + (number * 7 + tick) % 15),),
        )
        checked = report(found.name, *GOOD) if locked else report(found.name, UNLOCKED)
        views.append(
            view(
                found.name,
                state,
                lock_state="locked" if locked else "unlocked",
                gpu_target_hz=ORIN_HZ,
                check=checked if number % 4 else None,
            )
        )
    return views
