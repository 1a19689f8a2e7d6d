"""What is read of a Jetson alone: its power mode, jetson_clocks' view, over-current counters, memory's clock."""

from __future__ import annotations

from edgelab.drivers.device_state import ClockDomain, PowerMode
from edgelab.drivers.families.look import Look
from edgelab.drivers.probe import Command
from edgelab.drivers.readings.jetson_clocks import read_jetson_clocks as shown_clocks
from edgelab.drivers.readings.l4t_release import read_l4t_release
from edgelab.drivers.readings.loads import read_permille_load
from edgelab.drivers.readings.nvpmodel import read_nvpmodel_conf, read_nvpmodel_query, read_nvpmodel_status
from edgelab.drivers.readings.overcurrent import read_overcurrent

NVPMODEL = "/usr/sbin/nvpmodel"
JETSON_CLOCKS = "/usr/bin/jetson_clocks"
STATUS = "/var/lib/nvpmodel/status"
CONF = "/etc/nvpmodel.conf"
RELEASE = "/etc/nv_tegra_release"
GPU_LOADS = ("/sys/devices/gpu.0/load", "/sys/devices/platform/gpu.0/load")
COUNTERS = "/sys/class/hwmon/hwmon*/oc*_event_cnt"
REAL_CLOCKS = "/sys/kernel/debug/bpmp/debug/clk/nafll_gpc*/pto_counter"

JETSON_FILES = (STATUS, CONF, RELEASE, *GPU_LOADS, COUNTERS)
JETSON_ROOT_FILES = (REAL_CLOCKS,)
JETSON_COMMANDS = (
    # nvpmodel may hang under load (jetson_stats issue 721): the mode's status file answers then.
    Command(name="nvpmodel", argv=(NVPMODEL, "-q"), time_limit_s=3.0),
    Command(name="jetson_clocks", argv=(JETSON_CLOCKS, "--show"), root=True, time_limit_s=5.0),
)


def read_release(look: Look) -> None:
    """Set `system`: JetPack and L4T by /etc/nv_tegra_release, which says L4T alone."""
    said = look.text(RELEASE)
    release = read_l4t_release(said or "")
    if release.l4t is None:
        return
    jetpack = f"JetPack {release.jetpack} (L4T {release.l4t})" if release.jetpack else f"L4T {release.l4t}"
    look.fields["system"] = jetpack


def mode_of_query(output: bytes) -> PowerMode | None:
    """Return the mode that `nvpmodel -q` names; None when it names none."""
    found = read_nvpmodel_query(output.decode(errors="replace"))
    return None if found.mode is None else PowerMode(found.mode, found.id)


def mode_number(status: bytes) -> int | None:
    """Return the number of the mode that nvpmodel's status file names."""
    return read_nvpmodel_status(status.decode(errors="replace")).id


def read_power_mode(look: Look) -> None:
    """Set the modes the board knows and the one in force: by nvpmodel's answer, else by its status file."""
    names = read_nvpmodel_conf(look.text(CONF) or "").modes
    look.fields["power_modes"] = tuple(PowerMode(name, number) for number, name in sorted(names.items()))
    if not names:
        look.unread("power_modes", CONF)
    output = look.output("nvpmodel")
    answered = mode_of_query(output.output) if output is not None else None
    if answered is not None and output is not None:
        look.found("power_mode", answered, f"{NVPMODEL} -q", output.output)
        return
    said = look.text(STATUS)
    number = mode_number((said or "").encode())
    if number is None:
        look.unread("power_mode", STATUS)
    elif number not in names:
        look.unknown("power_mode", f"{CONF} has no name for mode {number}")
    else:
        look.found("power_mode", PowerMode(names[number], number), STATUS, said or "")


def read_counters(look: Look) -> None:
    """Set the over-current counters of the kernel's soctherm."""
    found = look.matching(COUNTERS)
    counts = read_overcurrent(found)
    look.fields |= {"throttle_counts": tuple(sorted(counts.items())), "throttle_nodes": tuple(found)}
    if counts:
        folder = next(iter(found)).rpartition("/")[0]
        said = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        look.cite("throttling", f"{folder}/oc*_event_cnt", said)
    else:
        look.unread("throttling", COUNTERS)


def gpu_load_percent(look: Look) -> float | None:
    """Return the GPU's load; the kernel shows it in thousandths."""
    for path in GPU_LOADS:
        said = look.text(path) or ""
        if (load := read_permille_load(said)) is not None:
            look.cite("gpu_load", path, said)
            return load
    return None


def read_real_clock(look: Look) -> int | None:
    """Return what the clock counters of the GPU's clusters say, the slowest of them, in Hz.

    They count what the hardware really does, and nothing while the GPU is powered down.
    """
    running = {path: freq_hz for path, freq_hz in look.numbers(REAL_CLOCKS).items() if freq_hz > 0}
    if not look.fields["under_load"]:
        look.unknown("real_clock", "an idle GPU does not show it, only a loaded one")
        return None
    if not running:
        if look.reply.sudo_problem:
            look.unknown("real_clock", f"{REAL_CLOCKS} needs root: {look.reply.sudo_problem}")
        else:
            look.unread("real_clock", REAL_CLOCKS)
        return None
    path = min(running, key=lambda one: running[one])
    look.cite("real_clock", path, str(running[path]))
    return running[path]


def read_jetson_clocks(look: Look) -> ClockDomain | None:
    """Set what `jetson_clocks --show` alone knows, and return the memory's clock.

    BPMP's override holds the memory at its rate with the limits apart: it stands as governor `override`.
    """
    shown = f"{JETSON_CLOCKS} --show"
    output = look.output("jetson_clocks")
    said = "" if output is None else output.output.decode(errors="replace")
    view = shown_clocks(said)
    look.fields |= {"clocks_locked": view.locked, "gpu_units": view.tpc}
    if view.tpc is None:
        look.unanswered("gpu_units", "jetson_clocks", shown)
    else:
        look.cite("gpu_units", shown, f"Active GPU TPCs: {view.tpc}")
    if not view.emc_hz:
        look.unanswered("memory_clock", "jetson_clocks", shown)
        return None
    low, high, current = view.emc_hz
    governor = "override" if view.emc_override else None
    return ClockDomain(
        name="emc",
        kind="memory",
        current_hz=current,
        min_hz=low,
        max_hz=high,
        governor=governor,
        source=shown,
    )
