"""How a simulated board is: heat, load, memory, disk, battery, throttling, by the nodes and tools that say so."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from edgelab.drivers.simulated import orin
from edgelab.drivers.simulated.board_model import BoardModel
from edgelab.drivers.simulated.board_state import BoardState
from edgelab.drivers.simulated.clocks import gpu_units, steps_down
from edgelab.drivers.simulated.faults import COUNTERS, Faults
from edgelab.drivers.simulated.node_file import put

_TICKS_PER_S = 100
_GPU_RISE_C = 9.0
_CORE_RISE_C = 1.5
_WARMS_WITHIN_S = 20.0
_DISK_KIB = 61_255_492
_FREE_KIB = 40_000_000
_CHARGE_PERCENT = 82
_SEVERE_SKIN_C = 43.0
_MARKS = "etc/edgelab"


def aged(state: BoardState, faults: Faults, model: BoardModel, now_s: float, *, gpu_busy: bool) -> BoardState:
    """Return a board's state at `now_s`: counters have counted, ticks have passed, it has warmed or cooled."""
    passed_s = max(0.0, now_s - state.settled_s)
    busy = min(faults.busy_cores, model.cores)
    target_c = _GPU_RISE_C * gpu_busy + _CORE_RISE_C * busy
    left = math.exp(-passed_s / _WARMS_WITHIN_S)
    grown = {
        name: state.throttles.get(name, 0.0)
        + (passed_s * faults.throttles_per_s if name in faults.throttle_counters else 0.0)
        for name in COUNTERS
    }
    return msgspec.structs.replace(
        state,
        settled_s=now_s,
        throttles=grown,
        heat_c=target_c + (state.heat_c - target_c) * left,
        busy_ticks=state.busy_ticks + passed_s * _TICKS_PER_S * busy,
        all_ticks=state.all_ticks + passed_s * _TICKS_PER_S * model.cores,
    )


def hottest_c(state: BoardState, model: BoardModel, faults: Faults) -> float:
    """Return how hot the hottest zone is."""
    if faults.temperature_c is not None:
        return faults.temperature_c
    return model.zones_c[model.hottest] + state.heat_c


def settle_health(tree: Path, model: BoardModel, faults: Faults, state: BoardState) -> None:
    """Write all nodes of health."""
    _proc(tree, model, faults, state)
    _heat(tree, model, faults, state)
    free = _FREE_KIB if faults.free_disk_kib is None else faults.free_disk_kib
    used = _DISK_KIB - free
    put(
        tree,
        f"{_MARKS}/df",
        f"/dev/mmcblk0p1 {_DISK_KIB:>13} {used:>8} {free:>9} {-(-100 * used // _DISK_KIB):>7}% /\n",
    )
    if orin.STATUS in model.files:
        for counter, count in state.throttles.items():
            put(tree, f"{orin.COUNTERS}/{counter}_event_cnt", f"{int(count)}\n")
        put(tree, f"{_MARKS}/gpu_units", f"{gpu_units(tree, faults)}\n")
    if "etc/edgelab/properties" in model.files:
        _phone(tree, faults, state, hottest_c(state, model, faults))


def _proc(tree: Path, model: BoardModel, faults: Faults, state: BoardState) -> None:
    uptime_s = state.settled_s - state.boot_s
    put(tree, "proc/uptime", f"{uptime_s:.2f} {uptime_s * model.cores * 0.9:.2f}\n")
    put(tree, "proc/sys/kernel/random/boot_id", f"{state.boot_id}\n")
    free_kib = model.memory_kib * 7 // 8
    put(
        tree,
        "proc/meminfo",
        f"MemTotal:       {model.memory_kib:>8} kB\nMemFree:        {free_kib - 4096:>8} kB\n"
        f"MemAvailable:   {free_kib:>8} kB\nBuffers:            3312 kB\n",
    )
    if not model.shows_load:
        return
    load = 0.05 + faults.busy_cores
    put(tree, "proc/loadavg", f"{load:.2f} {load:.2f} {load:.2f} 1/321 4242\n")
    idle = int(state.all_ticks - state.busy_ticks)
    cores = "".join(f"cpu{core} 0 0 0 0 0 0 0 0 0 0\n" for core in range(model.cores))
    put(tree, "proc/stat", f"cpu  {int(state.busy_ticks)} 0 0 {idle} 0 0 0 0 0 0\n{cores}")


def _heat(tree: Path, model: BoardModel, faults: Faults, state: BoardState) -> None:
    top_c = hottest_c(state, model, faults)
    for number, (zone, rest_c) in enumerate(model.zones_c.items()):
        celsius = top_c if zone == model.hottest else rest_c + state.heat_c * 0.8
        put(tree, f"sys/class/thermal/thermal_zone{number}/temp", f"{int(celsius * 1000)}\n")
    down = steps_down(model, top_c)
    for number, kind in enumerate(model.cooling):
        # A fan always runs and slows nothing down.
        step = 1 if kind == "pwm-fan" else down
        put(tree, f"sys/class/thermal/cooling_device{number}/cur_state", f"{step}\n")


def _phone(tree: Path, faults: Faults, state: BoardState, hottest: float) -> None:
    percent = _CHARGE_PERCENT if faults.battery_percent is None else faults.battery_percent
    put(
        tree,
        f"{_MARKS}/battery",
        "Current Battery Service state:\n  AC powered: false\n  USB powered: false\n  Wireless powered: false\n"
        f"  Charge counter: {percent * 48_000}\n  status: 3\n  health: 2\n  present: true\n  level: {percent}\n"
        "  scale: 100\n  voltage: 4011\n  temperature: 310\n  technology: Li-poly\n",
    )
    put(
        tree,
        f"{_MARKS}/battery.json",
        f'{{\n  "health": "GOOD",\n  "percentage": {percent},\n  "plugged": "UNPLUGGED",\n'
        '  "status": "DISCHARGING",\n  "temperature": 31.0,\n  "current": -412000\n}\n',
    )
    skin = 33.0 + state.heat_c * 0.3 if faults.temperature_c is None else faults.temperature_c
    severe = skin > _SEVERE_SKIN_C
    zones = ((skin, 3, "skin", 3 if severe else 0), (31.0, 2, "battery", 0), (4.011, 6, "vbat", 0))
    zones += ((hottest + 3, 0, "CPU0", 0), (hottest + 5, 0, "CPU7", 0), (hottest + 1, 1, "GPU0", 0))
    put(
        tree,
        f"{_MARKS}/thermalservice",
        f"IsStatusOverride: false\nThermal Status: {3 if severe else 0}\nCached temperatures:\n"
        "\tTemperature{mValue=29.9, mType=3, mName=skin, mStatus=0}\nHAL Ready: true\nHAL connection:\n"
        "\tThermalHAL 2.0 connected: yes\nCurrent temperatures from HAL:\n"
        + "".join(
            f"\tTemperature{{mValue={value:.3f}, mType={kind}, mName={name}, mStatus={status}}}\n"
            for value, kind, name, status in zones
        )
        + "Current cooling devices from HAL:\n"
        f"\tCoolingDevice{{mValue={3 if severe else 0}, mType=2, mName=thermal-cpufreq-7}}\n"
        "Temperature static thresholds from HAL:\n"
        "\tTemperatureThreshold{mType=3, mName=skin, mHotThrottlingThresholds=[NaN, 39.0, 41.0, 43.0, NaN, NaN, 90.0]"
        ", mColdThrottlingThresholds=[NaN, NaN, NaN, NaN, NaN, NaN, NaN]}\n",
    )
