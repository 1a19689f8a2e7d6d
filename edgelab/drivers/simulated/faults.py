"""What can be wrong with a simulated board. Faults are switched while it runs, through one file of its tree."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Literal

import msgspec

Counter = Literal["oc1", "oc2", "oc3"]
COUNTERS: tuple[Counter, ...] = ("oc1", "oc2", "oc3")
"""Events of the Jetson's soctherm: under-voltage, average and instantaneous over-current."""


class Faults(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The faults of one board; all off by default. What happens once is an event (`simulated.events`).

    Those of the link and `lease_holder` need the board's own server: behind an OpenSSH server only `delay_s`
    counts of them.
    """

    clock_cap_hz: int | None = None
    """The GPU stays below what is asked, as by a vendor's hidden limit; `cur_freq` shows it."""
    real_gpu_hz: int | None = None
    """The GPU really runs at this under load whatever `cur_freq` claims (1 GHz asked, 850 MHz real)."""
    idle_gpu_row: bool = False
    """The clock tree shows the GPU as idle also under load, so that its real clock cannot be known."""
    lock_lost: bool = False
    """Governors and limits fall back again and again, as a service does that sets the power mode."""
    lock_lost_after_s: float | None = None
    """They fall back once, so many seconds after this fault was switched on."""
    no_userspace: bool = False
    """The kernel has no governor `userspace`."""
    no_target: bool = False
    """The GPU's table lacks its highest step."""
    governor_refused: bool = False
    """Every governor is refused with EINVAL."""
    gpu_units: int | None = None
    """So many of the Jetson's GPU units (TPCs) are powered."""

    temperature_c: float | None = None
    """The hottest zone; from the board's trip point on clocks are held back and cooling devices show it."""
    throttles_per_s: float = 0.0
    """Events a second by which `throttle_counters` grow."""
    throttle_counters: tuple[Counter, ...] = COUNTERS
    """The counters of soctherm that `throttles_per_s` means."""
    busy_cores: float = 0.0
    """Cores that other processes keep busy."""
    gpu_busy: bool = False
    """Somebody else's program keeps the GPU busy."""
    free_disk_kib: int | None = None
    """Free space by df; at 0 writing fails with ENOSPC (cat, tee, jetson_clocks --store and SFTP)."""
    battery_percent: int | None = None
    """Charge of the phone's battery."""
    clock_offset_s: int = 0
    """How far the board's own clock is ahead."""

    reboot_prompt: bool = False
    """nvpmodel asks for a reboot before every change of the mode."""
    mode_write_failed: bool = False
    """nvpmodel fails to write a limit, and changes nothing."""
    hung_tool: bool = False
    """nvpmodel hangs."""
    sudo: str = "passwordless"
    """How sudo answers: `passwordless`, `denied`, or `password:SECRET`."""
    odd_bytes: bool = False
    """The model's name holds bytes that are no UTF-8."""
    dangling: bool = False
    """Nodes that are listed have vanished when they are read."""
    lease_holder: str = ""
    """Somebody else (user@host) holds the board's lease."""

    delay_s: float = 0.0
    """Each answer waits so long."""
    bytes_per_s: int | None = None
    """The link carries so much a second: commands' streams and files."""
    cut_bytes: int | None = None
    """Only so much of each command's standard output gets through."""
    garbage_bytes: int = 0
    """So many bytes of garbage come before it."""
    drop_link: bool = False
    """Every connection is cut at once."""
    blackhole: bool = False
    """Nothing passes in either direction, and nobody says so: a pulled cable."""


NAMES = Faults.__struct_fields__


def path_of(tree: Path) -> Path:
    """Return the file that holds a board's faults, as JSON."""
    return tree / "etc" / "edgelab" / "faults.json"


def read(tree: Path) -> Faults:
    """Return the faults of the board in `tree`. Raises `msgspec.DecodeError` when the file holds something else."""
    try:
        return msgspec.json.decode(path_of(tree).read_bytes(), type=Faults)
    except FileNotFoundError:
        return Faults()


def write(tree: Path, faults: Faults) -> None:
    """Switch the faults of the board in `tree`, from its next command on."""
    path = path_of(tree)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(faults))
    Path(name).replace(path)


def written_ns(tree: Path) -> int:
    """Return when the faults were switched last, in nanoseconds since the epoch; 0 for never."""
    try:
        return path_of(tree).stat().st_mtime_ns
    except FileNotFoundError:
        return 0
