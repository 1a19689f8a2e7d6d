"""The state of a device as one look found it. What could not be read is None, never 0."""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.drivers.check import Evidence

ClockKind = Literal["gpu", "cpu", "memory", "npu"]


class ClockDomain(msgspec.Struct, frozen=True, kw_only=True):
    """One clock: a GPU, a cluster of CPU cores, the memory controller or an NPU. Frequencies in Hz.

    `current_hz` is what the kernel says it asked for; `measured_hz` is what the hardware really runs at
    (clock tree or counter, meaningful under load alone). `min_hz` and `max_hz` are the present limits,
    `available_hz` the operating points in ascending order, `setpoint_hz` what the governor `userspace` was
    told. `source` names the folder of nodes or the command, `problem` says why `current_hz` is unknown.
    """

    name: str
    kind: ClockKind
    current_hz: int | None = None
    measured_hz: int | None = None
    min_hz: int | None = None
    max_hz: int | None = None
    available_hz: tuple[int, ...] = ()
    setpoint_hz: int | None = None
    governor: str | None = None
    governors: tuple[str, ...] = ()
    load_percent: float | None = None
    source: str = ""
    problem: str = ""


class Temperature(msgspec.Struct, frozen=True):
    """One thermal zone, in degrees Celsius, and the node or command that said so."""

    zone: str
    celsius: float
    source: str = ""


class PowerMode(msgspec.Struct, frozen=True):
    """A power mode (nvpmodel) by the name and number the board gives it."""

    name: str
    id: int | None = None


class LeaseHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a device: `owner` is user@host, `purpose` such as `run 261201-k7f3q` or `lock`."""

    owner: str
    purpose: str
    pid: int
    since_s: float


class SavedClocks(msgspec.Struct, frozen=True, kw_only=True):
    """What EdgeLab stored on the board before its first change there, as the family's `restore` needs it.

    `boot_id` tells whether the board was rebooted since; `nodes` maps a path to what it held, in the order
    in which it has to be written back. `files` names files that hold more (a jetson_clocks store).
    `purpose` tells a lock that the operator asked for (`lock`) from one that a run took for itself.
    """

    family: str
    owner: str
    purpose: str = "lock"
    saved_s: float
    boot_id: str | None
    power_mode: PowerMode | None = None
    nodes: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()


class DeviceState(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a device. `read_s` is seconds since the epoch by the clock of this machine.

    `throttle_counts` are events since boot by counter (Jetson's `oc1` to `oc3`, others by name), read from
    `throttle_nodes`;
    `throttling` says whether the board is being throttled now. `cpu_ticks` is (busy, all) of /proc/stat
    since boot. `unknown` says for a field, by its name, why it is not known; `evidence` what was read for it.
    `identity` is all that the board calls itself by: model, chip, machine. `under_load` says that the look
    itself kept the GPU busy, so that its load is not somebody else's.
    """

    read_s: float
    round_trip_s: float
    board_time_s: float | None = None
    boot_id: str | None = None
    uptime_s: float | None = None
    model: str | None = None
    identity: tuple[str, ...] = ()
    under_load: bool = False
    system: str | None = None
    cores: int | None = None
    power_mode: PowerMode | None = None
    power_modes: tuple[PowerMode, ...] = ()
    clocks: tuple[ClockDomain, ...] = ()
    clocks_locked: bool | None = None
    gpu_units: int | None = None
    temperatures: tuple[Temperature, ...] = ()
    throttle_counts: tuple[tuple[str, int], ...] = ()
    throttle_nodes: tuple[str, ...] = ()
    throttling: bool | None = None
    load_1min: float | None = None
    cpu_ticks: tuple[int, int] | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    disk_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    battery_percent: float | None = None
    battery_charging: bool | None = None
    lease: LeaseHolder | None = None
    lease_free: bool | None = None
    saved: SavedClocks | None = None
    worker_runtime: str | None = None
    sudo_problem: str = ""
    unknown: tuple[tuple[str, str], ...] = ()
    evidence: tuple[tuple[str, Evidence], ...] = ()

    def clock(self, kind: ClockKind) -> ClockDomain | None:
        """Return the fastest clock of a kind (a board has one GPU, but several CPU clusters)."""
        found = [clock for clock in self.clocks if clock.kind == kind]
        return max(found, key=lambda clock: clock.current_hz or clock.max_hz or 0, default=None)

    def hottest(self) -> Temperature | None:
        """Return the hottest zone."""
        return max(self.temperatures, key=lambda zone: zone.celsius, default=None)

    def why_unknown(self, field: str) -> str:
        """Return why `field` is not known, empty where nothing was said."""
        return dict(self.unknown).get(field, "")

    def evidence_of(self, field: str) -> Evidence | None:
        """Return what `field` was read from."""
        return dict(self.evidence).get(field)
