"""What happens on a simulated board between two commands: clocks follow governors, counters count, time goes on."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import msgspec

from edgelab.drivers.simulated import faults as fault_file
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.models import MODELS, BoardModel, ClockModel
from edgelab.drivers.simulated.tree import BoardState, boot, load, put, save

_TICKS_PER_S = 100
_BUSY_RISE_C = 8.0
_GPU_UNITS = 8
_LOADED = "etc/edgelab/loaded"
_IDLE = "etc/edgelab/idle"


def settle(tree: Path) -> Faults:
    """Bring the nodes of the board in `tree` up to now; returns its faults."""
    faults = fault_file.read(tree)
    state = load(tree)
    model = MODELS[state.profile]()
    if (tree / "etc/edgelab/rebooted").exists():
        (tree / "etc/edgelab/rebooted").unlink()
        boot(tree, state.profile, model)
        state = load(tree)
    if faults.lock_lost:
        _lose_lock(tree, model)
    state = _count(state, faults, model, time.time())
    _clocks(tree, model, faults)
    _health(tree, model, faults, state)
    _marks(tree, faults)
    save(tree, state)
    return faults


def reboot(tree: Path) -> None:
    """Boot the board in `tree` anew: another boot id, clocks as they are at boot."""
    state = load(tree)
    boot(tree, state.profile, MODELS[state.profile]())
    save(tree, msgspec.structs.replace(load(tree), boot_id=str(uuid.uuid4()), boot_s=time.time()))


def _lose_lock(tree: Path, model: BoardModel) -> None:
    """Put limits and governors back, as a service does that sets the power mode again."""
    for clock in model.clocks:
        prefix = "scaling_" if clock.kind == "cpu" else ""
        put(tree, f"{clock.folder}/{prefix}governor", f"{clock.governor}\n")
        put(tree, f"{clock.folder}/{prefix}min_freq", f"{clock.steps_hz[0] // clock.unit_hz}\n")
    if (tree / "etc/edgelab/emc/override").exists():
        put(tree, "etc/edgelab/emc/override", "0\n")


def _count(state: BoardState, faults: Faults, model: BoardModel, now_s: float) -> BoardState:
    passed_s = max(0.0, now_s - state.settled_s)
    busy = min(faults.busy_cores, model.cores)
    return msgspec.structs.replace(
        state,
        settled_s=now_s,
        throttles=state.throttles + passed_s * faults.throttles_per_s,
        busy_ticks=state.busy_ticks + passed_s * _TICKS_PER_S * busy,
        all_ticks=state.all_ticks + passed_s * _TICKS_PER_S * model.cores,
    )


def _clocks(tree: Path, model: BoardModel, faults: Faults) -> None:
    """Write what every clock runs at now and, aside, what it does with a busy and with an idle GPU."""
    busy_now = _is_busy(tree)
    for clock in model.clocks:
        prefix = "scaling_" if clock.kind == "cpu" else ""
        governors = [name for name in clock.governors if not (faults.no_userspace and name == "userspace")]
        steps = clock.steps_hz[:-1] if faults.no_target and clock.kind == "gpu" else clock.steps_hz
        put(tree, f"{clock.folder}/{prefix}available_governors", " ".join(governors) + "\n")
        listed = " ".join(str(step // clock.unit_hz) for step in steps)
        put(tree, f"{clock.folder}/{prefix}available_frequencies", f"{listed} \n")
        for busy, place in ((busy_now, tree), (True, tree / _LOADED), (False, tree / _IDLE)):
            hz = current_hz(tree, clock, busy=busy, cap_hz=faults.clock_cap_hz)
            put(place, f"{clock.folder}/{prefix}cur_freq", f"{hz // clock.unit_hz}\n")
            if clock.kind == "gpu":
                _gpu(place, tree, clock, faults, hz, busy)
    if (tree / "etc/edgelab/emc/override").exists():
        locked = (tree / "etc/edgelab/emc/override").read_text().strip() == "1"
        put(tree, "etc/edgelab/emc/rate", f"{3_199_000_000 if locked else 2_133_000_000}\n")


def _is_busy(tree: Path) -> bool:
    """Whether a program keeps the GPU busy: it has left its process id, and lives."""
    folder = tree / "etc/edgelab/busy"
    running = [mark for mark in folder.glob("*") if Path(f"/proc/{mark.name}").exists()]
    for mark in folder.glob("*"):
        if mark not in running:
            mark.unlink(missing_ok=True)
    return bool(running)


def current_hz(tree: Path, clock: ClockModel, *, busy: bool, cap_hz: int | None = None) -> int:
    """Return what a clock runs at by its governor and limits, as the kernel's governors choose."""
    prefix = "scaling_" if clock.kind == "cpu" else ""

    def number(name: str) -> int:
        # A command of the board may be writing it at this moment.
        said = (tree / clock.folder / name).read_text().strip()
        return int(said) * clock.unit_hz if said.isdecimal() else clock.steps_hz[0]

    governor = (tree / clock.folder / f"{prefix}governor").read_text().strip()
    low, high = number(f"{prefix}min_freq"), number(f"{prefix}max_freq")
    if governor == "performance":
        wanted = high
    elif governor == "userspace" and clock.kind != "cpu":
        wanted = number("userspace/set_freq")
    else:
        wanted = high if busy else low
    # A lower limit above the upper one is no error in the kernel; the upper one counts.
    wanted = min(max(wanted, low), high)
    if cap_hz is not None and clock.kind == "gpu":
        wanted = min(wanted, cap_hz)
    return max((step for step in clock.steps_hz if step <= wanted), default=clock.steps_hz[0])


def _gpu(place: Path, tree: Path, clock: ClockModel, faults: Faults, hz: int, busy: bool) -> None:
    """Write what shows the GPU's load and its real clock: rows of the clock tree, load nodes."""
    real_hz = faults.real_gpu_hz if faults.real_gpu_hz is not None else hz
    if "fb000000" in clock.folder:
        put(place, f"{clock.folder}/load", f"{97 if busy else 0}@{hz}Hz\n")
        put(place, "sys/kernel/debug/clk/clk_summary", _clock_tree(real_hz, busy))
        return
    if (tree / "sys/devices/platform/gpu.0/load").exists():
        put(place, "sys/devices/platform/gpu.0/load", f"{970 if busy else 0}\n")
        counter = "sys/kernel/debug/bpmp/debug/clk/nafll_gpc0/pto_counter"
        put(place, counter, f"{real_hz if busy else 0}\n")


def _clock_tree(gpu_hz: int, busy: bool) -> str:
    head = " " * 33 + "enable  prepare  protect" + " " * 32 + "duty  hardware\n"
    head += "   clock                          count    count    count        rate   accuracy phase  cycle    enable\n"
    count = 1 if busy else 0
    return (
        head
        + "-" * 103
        + "\n"
        + f"{' xin24m':<37}{21:>3}{24:>9}{0:>9}{24_000_000:>12}          0     0  50000         Y\n"
        + f"{'       clk_gpu':<37}{count:>3}{3:>9}{0:>9}{gpu_hz:>12}          0     0  50000         Y\n"
    )


def _health(tree: Path, model: BoardModel, faults: Faults, state: BoardState) -> None:
    uptime_s = state.settled_s - state.boot_s
    load = 0.05 + faults.busy_cores
    put(tree, "proc/uptime", f"{uptime_s:.2f} {uptime_s * model.cores * 0.9:.2f}\n")
    put(tree, "proc/loadavg", f"{load:.2f} {load:.2f} {load:.2f} 1/321 4242\n")
    put(tree, "proc/sys/kernel/random/boot_id", f"{state.boot_id}\n")
    idle = int(state.all_ticks - state.busy_ticks)
    cores = "".join(f"cpu{core} 0 0 0 0 0 0 0 0 0 0\n" for core in range(model.cores))
    put(tree, "proc/stat", f"cpu  {int(state.busy_ticks)} 0 0 {idle} 0 0 0 0 0 0\n{cores}")
    free_kib = model.memory_kib * 7 // 8
    put(
        tree,
        "proc/meminfo",
        f"MemTotal:       {model.memory_kib} kB\nMemFree:        {free_kib - 4096} kB\nMemAvailable:   {free_kib} kB\n",
    )
    free_disk = faults.free_disk_kib if faults.free_disk_kib is not None else 40_000_000
    put(tree, "etc/edgelab/df", f"/dev/mmcblk0p1   61255492 {61255492 - free_disk} {free_disk}      35% /\n")
    hottest = max(model.zones_c, key=lambda zone: model.zones_c[zone])
    for number, (zone, celsius) in enumerate(model.zones_c.items()):
        if zone == hottest and faults.temperature_c is not None:
            celsius = faults.temperature_c
        put(tree, f"sys/class/thermal/thermal_zone{number}/temp", f"{int(celsius * 1000)}\n")
    put(tree, "etc/edgelab/temperature", f"{faults.temperature_c or model.zones_c[hottest]:.3f}\n")
    if (tree / "sys/class/hwmon/hwmon3/name").exists():
        for counter in ("oc1", "oc2", "oc3"):
            put(tree, f"sys/class/hwmon/hwmon3/{counter}_event_cnt", f"{int(state.throttles)}\n")
    _battery(tree, faults)


def _battery(tree: Path, faults: Faults) -> None:
    if not (tree / "etc/edgelab/properties").exists():
        return
    percent = faults.battery_percent if faults.battery_percent is not None else 82
    fields = {"status": 3, "level": percent, "scale": 100, "voltage": 4011, "temperature": 310}
    rows = "".join(f"  {name}: {value}\n" for name, value in fields.items())
    put(tree, "etc/edgelab/battery", f"Current Battery Service state:\n{rows}")
    put(
        tree,
        "etc/edgelab/battery.json",
        f'{{"percentage": {percent}, "status": "DISCHARGING", "temperature": 31.0}}\n',
    )
    skin = faults.temperature_c or 33.0
    put(
        tree,
        "etc/edgelab/thermalservice",
        f"Thermal Status: {2 if skin > 43 else 0}\nHAL Ready: true\nCurrent temperatures from HAL:\n"
        f"\tTemperature{{mValue={skin}, mType=3, mName=skin, mStatus=0}}\n"
        f"\tTemperature{{mValue={skin + 5}, mType=0, mName=CPU7, mStatus=0}}\n",
    )


def _marks(tree: Path, faults: Faults) -> None:
    """Tell the tools of the tree what is wrong, by files that they look for."""
    put(tree, "etc/edgelab/sudo", f"{faults.sudo}\n")
    put(tree, "etc/edgelab/clock_offset", f"{faults.clock_offset_s}\n")
    put(tree, "etc/edgelab/gpu_units", f"{faults.gpu_units or _GPU_UNITS}\n")
    wanted = {
        "hung": faults.hung_tool,
        "reboot_prompt": faults.reboot_prompt,
        "mode_write_failed": faults.mode_write_failed,
        "governor_refused": faults.governor_refused,
        "full": faults.free_disk_kib == 0,
    }
    for name, on in wanted.items():
        mark = tree / "etc/edgelab" / name
        if on:
            mark.touch()
        else:
            mark.unlink(missing_ok=True)
    model = tree / "proc/device-tree/model"
    if faults.odd_bytes and model.exists() and not model.read_bytes().startswith(b"\xff"):
        model.write_bytes(b"\xff\xfe" + model.read_bytes())
    dangling = tree / "sys/class/thermal/thermal_zone90"
    if faults.dangling:
        dangling.mkdir(parents=True, exist_ok=True)
        for name in ("type", "temp"):
            if not (dangling / name).is_symlink():
                (dangling / name).symlink_to("gone")
