"""What can be wrong with a simulated board. Faults are switched while it runs, through one file of its tree."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec


class Faults(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The faults of one board; all off by default.

    Clocks: `clock_cap_hz` holds the GPU below what is asked, as a vendor's limit does; `real_gpu_hz` is what it
    runs at under load whatever it claims; `lock_lost` puts governors and limits back, as nvpmodel.service
    does when it is run again; `no_userspace` and `no_target` take the governor, or the highest step, out of
    their lists; `governor_refused` refuses every governor; `gpu_units` powers fewer of them.
    Health: `temperature_c`, `throttles_per_s` (events a second), `busy_cores`, `free_disk_kib`,
    `battery_percent`, `clock_offset_s` of the board's own clock.
    Tools: `reboot_prompt` lets nvpmodel ask, `mode_write_failed` lets it fail, `hung_tool` lets it hang;
    `sudo` is how sudo answers (`passwordless`, `denied`, or `password:SECRET`).
    Link: `delay_s` before each answer, `cut_bytes` of each command's output get through, `garbage_bytes` come
    before it, `odd_bytes` puts bytes that are not UTF-8 into the model's name, `dangling` leaves nodes that
    vanish when read, `drop_link` ends every connection.
    """

    clock_cap_hz: int | None = None
    real_gpu_hz: int | None = None
    lock_lost: bool = False
    no_userspace: bool = False
    no_target: bool = False
    governor_refused: bool = False
    gpu_units: int | None = None
    temperature_c: float | None = None
    throttles_per_s: float = 0.0
    busy_cores: float = 0.0
    free_disk_kib: int | None = None
    battery_percent: int | None = None
    clock_offset_s: int = 0
    reboot_prompt: bool = False
    mode_write_failed: bool = False
    hung_tool: bool = False
    sudo: str = "passwordless"
    delay_s: float = 0.0
    cut_bytes: int | None = None
    garbage_bytes: int = 0
    odd_bytes: bool = False
    dangling: bool = False
    drop_link: bool = False


NAMES = Faults.__struct_fields__


def path_of(tree: Path) -> Path:
    """Return the file that holds a board's faults."""
    return tree / "etc" / "edgelab" / "faults.json"


def read(tree: Path) -> Faults:
    """Return the faults of the board in `tree`."""
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
