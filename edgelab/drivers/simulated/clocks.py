"""How a simulated board's clocks follow their governors, limits, loads and heat, and what shows it."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from edgelab.drivers.simulated import orin, rk3588
from edgelab.drivers.simulated.board_model import BoardModel, ClockModel
from edgelab.drivers.simulated.board_state import ClockHistory
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.node_file import number_of, put, text_of
from edgelab.drivers.simulated.tree import mode_cap, mode_value

LOADED = "etc/edgelab/loaded"
IDLE = "etc/edgelab/idle"
"""Folders with what nodes hold under load and at rest, for the stand-in that loads the GPU."""

_IDLE_GPU_HZ = 297_000_000
"""What the clock tree of an idle RK3588 says of its GPU, whatever devfreq asked for (real capture)."""

_DEGREES_A_STEP = 2.0


class Knobs(msgspec.Struct, frozen=True):
    """What somebody can set of a clock: governor, limits and set point, in Hz."""

    governor: str
    low_hz: int
    high_hz: int
    set_point_hz: int


def knobs_of(tree: Path, clock: ClockModel) -> Knobs:
    """Return what a clock is set to; what a command is writing just now counts as the lowest step."""
    first, unit = clock.steps_hz[0] // clock.unit_hz, clock.unit_hz
    set_point = number_of(tree, clock.set_point, first) if clock.set_point is not None else first
    return Knobs(
        text_of(tree, clock.node("governor")) or clock.governor,
        number_of(tree, clock.node("min_freq"), first) * unit,
        number_of(tree, clock.node("max_freq"), first) * unit,
        set_point * unit,
    )


def clock_hz(clock: ClockModel, knobs: Knobs, *, busy: bool, cap_hz: float = math.inf) -> int:
    """Return the step a clock runs at, as the kernel's governors choose it, and never above `cap_hz`.

    A lower limit above the upper one is no error in the kernel; the upper one counts.
    """
    if knobs.governor == "performance":
        wanted_hz = knobs.high_hz
    elif knobs.governor == "powersave":
        wanted_hz = knobs.low_hz
    elif knobs.governor == "userspace" and clock.set_point is not None:
        wanted_hz = knobs.set_point_hz
    else:
        wanted_hz = knobs.high_hz if busy else knobs.low_hz
    wanted_hz = min(max(wanted_hz, knobs.low_hz), knobs.high_hz, cap_hz)
    return max((step for step in clock.steps_hz if step <= wanted_hz), default=clock.steps_hz[0])


def current_hz(tree: Path, clock: ClockModel, *, busy: bool, cap_hz: float = math.inf) -> int:
    """Return what the clock of the board in `tree` runs at."""
    return clock_hz(clock, knobs_of(tree, clock), busy=busy, cap_hz=cap_hz)


def steps_down(model: BoardModel, hottest_c: float) -> int:
    """Return by how many steps a board holds itself back at a temperature: more, the further above its trip point."""
    if model.trip_c is None or hottest_c < model.trip_c:
        return 0
    return 1 + int((hottest_c - model.trip_c) / _DEGREES_A_STEP)


def settle_clocks(
    tree: Path, model: BoardModel, faults: Faults, *, busy: bool, hottest_c: float
) -> dict[str, int]:
    """Write what every clock runs at, also under load and at rest aside; returns the step of each of devfreq."""
    down = steps_down(model, hottest_c)
    running: dict[str, int] = {}
    for clock in model.clocks:
        _tables(tree, clock, faults)
        knobs = knobs_of(tree, clock)
        cap_hz = _cap_hz(clock, faults, down)
        for loaded, place in ((busy, ""), (True, f"{LOADED}/"), (False, f"{IDLE}/")):
            hz = clock_hz(clock, knobs, busy=loaded, cap_hz=cap_hz)
            put(tree, f"{place}{clock.node('cur_freq')}", f"{hz // clock.unit_hz}\n")
            if clock.kind == "gpu":
                _show_gpu(tree, place, clock, faults, hz, loaded)
            if not place and clock.kind != "cpu":
                put(tree, f"{clock.folder}/target_freq", f"{hz}\n")
                running[clock.folder] = clock.steps_hz.index(hz)
    return running


def _cap_hz(clock: ClockModel, faults: Faults, down: int) -> float:
    cap_hz = math.inf
    if down and clock.kind in ("gpu", "cpu"):
        cap_hz = clock.steps_hz[max(0, len(clock.steps_hz) - 1 - down)]
    if faults.clock_cap_hz is not None and clock.kind == "gpu":
        cap_hz = min(cap_hz, faults.clock_cap_hz)
    return cap_hz


def _tables(tree: Path, clock: ClockModel, faults: Faults) -> None:
    governors = [name for name in clock.governors if not (faults.no_userspace and name == "userspace")]
    steps = clock.steps_hz[:-1] if faults.no_target and clock.kind == "gpu" else clock.steps_hz
    put(tree, clock.node("available_governors"), " ".join(governors) + "\n")
    put(
        tree,
        clock.node("available_frequencies"),
        "".join(f"{step // clock.unit_hz} " for step in steps) + "\n",
    )


def _show_gpu(tree: Path, place: str, clock: ClockModel, faults: Faults, hz: int, busy: bool) -> None:
    """Write what shows the GPU's load and its real clock: rows of the clock tree, load nodes, counters."""
    real_hz = faults.real_gpu_hz if faults.real_gpu_hz is not None else hz
    if clock.folder == rk3588.GPU:
        put(tree, f"{place}{clock.folder}/load", f"{97 if busy else 0}@{hz}Hz\n")
        put(tree, f"{place}{rk3588.CLOCK_TREE}", clock_tree(real_hz, busy and not faults.idle_gpu_row))
    elif clock.folder == orin.GPU:
        put(tree, f"{place}{orin.GPU_LOAD}", f"{970 if busy else 0}\n")
        for counter in orin.REAL_CLOCKS:
            put(tree, f"{place}{counter}", f"{real_hz if busy and not faults.idle_gpu_row else 0}\n")


def clock_tree(gpu_hz: int, busy: bool) -> str:
    """Return the GPU's part of /sys/kernel/debug/clk/clk_summary; an idle one says nothing of the real clock."""
    on, hz = int(busy), gpu_hz if busy else _IDLE_GPU_HZ
    rows = (
        (" scmi_clk_gpu", on, on, hz, "Y"),
        ("    clk_testout_gpu", 0, 0, 24_000_000, "N"),
        (" xin24m", 21, 24, 24_000_000, "Y"),
        ("    clk_gpu_pvtm", 0, 1, 24_000_000, "N"),
        ("       clk_gpu_src", on, on, hz, "Y"),
        ("          clk_gpu", on, 3 * on, hz, "Y"),
        ("             clk_gpu_stacks", 0, on, hz, "Y"),
        ("             clk_gpu_coregroup", on, on, hz, "Y"),
        ("       pclk_gpu_grf", 0, 0, 198_000_000, "N"),
    )
    head = (
        f"{'enable  prepare  protect':>57}{'duty  hardware':>46}\n"
        "   clock                          count    count    count        rate   accuracy phase  cycle    enable\n"
        f"{'-' * 103}\n"
    )
    return head + "".join(
        f"{name:<36}{enabled:>4}{prepared:>9}{0:>9}{rate:>12}          0     0  50000{hardware:>10}\n"
        for name, enabled, prepared, rate, hardware in rows
    )


def counted(
    history: dict[str, ClockHistory], model: BoardModel, running: dict[str, int], passed_s: float
) -> dict[str, ClockHistory]:
    """Return the clocks' history after `passed_s` seconds at their last step, and the change to the present one."""
    found: dict[str, ClockHistory] = {}
    for clock in model.clocks:
        if clock.folder not in running:
            continue
        count, step = len(clock.steps_hz), running[clock.folder]
        before = history.get(clock.folder) or ClockHistory(step, (0.0,) * count, (0,) * count * count)
        time_ms, changes = list(before.time_ms), list(before.changes)
        time_ms[before.step] += passed_s * 1e3
        if step != before.step:
            changes[before.step * count + step] += 1
        found[clock.folder] = ClockHistory(step, tuple(time_ms), tuple(changes))
    return found


def trans_stat(clock: ClockModel, history: ClockHistory) -> str:
    """Return a clock's trans_stat; the kernel gives a frequency ten places, so those of 1 GHz touch each other."""
    steps, count = clock.steps_hz, len(clock.steps_hz)
    rows = ["     From  :   To", " " * 11 + ":" + "".join(f"{step:>10}" for step in steps) + "   time(ms)"]
    for number, step in enumerate(steps):
        mark = "*" if number == history.step else " "
        changes = "".join(
            f"{change:>10}" for change in history.changes[number * count : (number + 1) * count]
        )
        rows.append(f"{mark}{step:>10}:{changes}{int(history.time_ms[number]):>10}")
    return "\n".join([*rows, f"Total transition : {sum(history.changes)}", ""])


def fall_back(tree: Path, model: BoardModel) -> None:
    """Put limits and governors back, as a service does that sets the power mode again."""
    for clock in model.clocks:
        low, high = clock.steps_hz[0] // clock.unit_hz, clock.steps_hz[-1] // clock.unit_hz
        put(tree, clock.node("governor"), f"{clock.governor}\n")
        put(tree, clock.node("min_freq"), f"{low}\n")
        put(tree, clock.node("max_freq"), f"{mode_cap(tree, clock) or high}\n")
    if mode_value(tree, "GPU MAX_FREQ") is not None:
        put(tree, f"{orin.EMC}/mrq_rate_locked", "0\n")
        put(tree, f"{orin.EMC}/rate", f"{orin.EMC_IDLE_HZ}\n")
        put(tree, "etc/edgelab/idle_states", "1\n")


def set_mode(tree: Path, model: BoardModel, number: int, *, locked: bool) -> None:
    """Put a Jetson into a power mode, with its clocks free or held; other boards have none."""
    if text_of(tree, orin.STATUS) is None:
        return
    put(tree, orin.STATUS, f"pmode:{number:04d}\n")
    put(tree, orin.TPC_MASK, f"{mode_value(tree, 'TPC_POWER_GATING TPC_PG_MASK') or 0}\n")
    fall_back(tree, model)
    if not locked:
        return
    for clock in model.clocks:
        put(tree, clock.node("min_freq"), f"{text_of(tree, clock.node('max_freq'))}\n")
    put(tree, f"{orin.EMC}/mrq_rate_locked", "1\n")
    put(tree, f"{orin.EMC}/rate", f"{orin.EMC_MAX_HZ}\n")
    put(tree, "etc/edgelab/idle_states", "0\n")


def gpu_units(tree: Path, faults: Faults) -> int:
    """Return how many of a Jetson's GPU units are powered."""
    if faults.gpu_units is not None:
        return faults.gpu_units
    return orin.GPU_UNITS - number_of(tree, orin.TPC_MASK, 0).bit_count()
