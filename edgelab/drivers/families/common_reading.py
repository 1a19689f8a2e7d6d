"""What is read of every device alike: its boot, load, memory, disk, heat, lease, and EdgeLab's own files."""

from __future__ import annotations

from edgelab.drivers.board_folder import CURRENT_RUNTIME
from edgelab.drivers.board_lease import lease_command, read_lease
from edgelab.drivers.device_state import Temperature
from edgelab.drivers.families import saved_clocks
from edgelab.drivers.families.look import Look
from edgelab.drivers.probe import Command, ProbeReply
from edgelab.drivers.profile import Profile
from edgelab.drivers.readings.disk import read_df
from edgelab.drivers.readings.memory import read_meminfo
from edgelab.drivers.readings.proc import read_cpu_ticks, read_load_average, read_system_name, read_uptime_s
from edgelab.drivers.readings.zones import read_zones

BOOT_ID = "/proc/sys/kernel/random/boot_id"
UPTIME = "/proc/uptime"
ZONES = "/sys/class/thermal/thermal_zone*"
COOLING = "/sys/class/thermal/cooling_device*"

_LOADAVG = "/proc/loadavg"
_STAT = "/proc/stat"
_MEMINFO = "/proc/meminfo"
_OS_RELEASE = "/etc/os-release"
_THROTTLES = ("cpufreq", "devfreq", "throttl", "processor")
"""Cooling devices that slow something down, by what their type contains; fans do not."""

COMMON_FILES = (
    BOOT_ID,
    UPTIME,
    _LOADAVG,
    _STAT,
    _MEMINFO,
    f"{ZONES}/type",
    f"{ZONES}/temp",
    f"{COOLING}/type",
    f"{COOLING}/cur_state",
    saved_clocks.PATH,
    CURRENT_RUNTIME,
)
FULL_FILES = (_OS_RELEASE,)

_DISK = Command(name="df", argv=("df", "-Pk", "."), time_limit_s=2.0)
_SUDO = Command(name="sudo", argv=("true",), root=True)
_LOAD = "load"


def common_commands(profile: Profile, *, full: bool, under_load: bool) -> tuple[Command, ...]:
    """Return the commands of every look: disk and lease; sudo where locking needs it; what loads the GPU."""
    commands = [_DISK, lease_command(profile.lease)]
    if full and profile.clocks.lock:
        commands.append(_SUDO)
    if under_load and profile.load_argv:
        commands.append(Command(name=_LOAD, argv=profile.load_argv, background=True))
    return tuple(commands)


def read_common(reply: ProbeReply) -> Look:
    """Return what a reply says of everything that families have in common."""
    look = Look(reply)
    look.fields |= {
        "read_s": reply.ended_s,
        "round_trip_s": reply.ended_s - reply.started_s,
        "board_time_s": reply.board_time_s,
        "sudo_problem": reply.sudo_problem,
        "under_load": _LOAD in reply.outputs,
        "boot_id": look.text(BOOT_ID) or None,
    }
    if reply.board_time_s is None:
        look.unknown("board_clock", "the board's `date` gave no time")
    if (system := read_system_name(look.text(_OS_RELEASE) or "")) is not None:
        look.fields["system"] = system
    _read_load(look)
    _read_space(look)
    _read_zones(look)
    _read_cooling(look)
    _read_lease(look)
    _read_own_files(look)
    _read_sudo(look)
    return look


def _read_load(look: Look) -> None:
    """Load average, ticks, cores and uptime, all of /proc (proc(5))."""
    look.fields["uptime_s"] = read_uptime_s(look.text(UPTIME) or "")
    said = look.text(_LOADAVG)
    if (load := read_load_average(said or "").one_min) is None:
        look.unread("load", _LOADAVG)
    else:
        look.found("load_1min", load, _LOADAVG, said or "")
        look.cite("load", _LOADAVG, said or "")
    stat = look.text(_STAT) or ""
    ticks = read_cpu_ticks(stat)
    look.fields["cores"] = ticks.cores
    look.fields["cpu_ticks"] = None
    if ticks.busy is not None and ticks.total is not None:
        look.found("cpu_ticks", (ticks.busy, ticks.total), _STAT, stat.partition("\n")[0])


def _read_cooling(look: Look) -> None:
    """Whether a cooling device that slows something down is at work."""
    active: list[str] = []
    known = False
    for path, step in look.numbers(f"{COOLING}/cur_state").items():
        kind = look.text(f"{path.removesuffix('/cur_state')}/type") or ""
        if not any(word in kind.lower() for word in _THROTTLES):
            continue
        known = True
        if step > 0:
            active.append(f"{kind} {step}")
    if not known:
        look.unread("throttling", f"{COOLING}/cur_state")
        return
    look.found("throttling", bool(active), f"{COOLING}/cur_state", "all 0")
    if active:
        look.cite("cooling", f"{COOLING}/cur_state", ", ".join(active))


def _read_lease(look: Look) -> None:
    free, holder = read_lease(look.output("lease"))
    look.fields |= {"lease_free": free, "lease": holder}
    output = look.output("lease")
    if free is None:
        look.unanswered("lease", "lease", "asking for the lease")
    elif output is not None:
        look.cite("lease", "the lease's lock file", output.output)


def _read_own_files(look: Look) -> None:
    data = look.reply.files.get(saved_clocks.PATH)
    if data is not None:
        look.fields["saved"] = saved_clocks.decode(data)
        if look.fields["saved"] is None:
            look.unknown("saved", f"{saved_clocks.PATH} is damaged")
    runtime = look.text(CURRENT_RUNTIME)
    if runtime:
        look.found("worker_runtime", runtime, CURRENT_RUNTIME, runtime)


def _read_sudo(look: Look) -> None:
    output = look.output(_SUDO.name)
    if output is None:
        look.unknown("sudo", "only a full check tries it")
    elif output.exit_code == 0:
        look.cite("sudo", "sudo true", "exit status 0")
    elif not look.reply.sudo_problem:
        said = output.output.decode(errors="replace").strip()
        look.fields["sudo_problem"] = said or "sudo did not answer within its time limit"


def _read_space(look: Look) -> None:
    said = look.text(_MEMINFO)
    memory = read_meminfo(said or "")
    if memory.available_kb is None:
        look.unread("memory", _MEMINFO)
    else:
        total_kb = memory.total_kb
        look.fields["memory_total_bytes"] = None if total_kb is None else total_kb << 10
        look.fields["memory_available_bytes"] = memory.available_kb << 10
        look.cite("memory", _MEMINFO, said or "")
    output = look.output(_DISK.name)
    disk = read_df(output.output.decode(errors="replace")) if output is not None else None
    if output is None or disk is None:
        look.unanswered("disk", _DISK.name, "df -Pk .")
    else:
        look.fields |= {"disk_total_bytes": disk.total_kb << 10, "disk_free_bytes": disk.available_kb << 10}
        look.cite("disk", "df -Pk .", output.output)


def _read_zones(look: Look) -> None:
    found = read_zones(look.matching(f"{ZONES}/type", f"{ZONES}/temp"))
    look.fields["temperatures"] = tuple(
        Temperature(zone.name, zone.celsius, zone.node) for zone in found.known
    )
    if found.hottest is None:
        look.unread("temperature", f"{ZONES}/temp")
        return
    look.cite("temperature", found.hottest.node, look.text(found.hottest.node) or "")
