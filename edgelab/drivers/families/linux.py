"""Any Linux machine without a GPU backend: the governor of its CPUs, where it may be set, and its health."""

from __future__ import annotations

from typing import ClassVar

from edgelab.drivers.device_state import DeviceState
from edgelab.drivers.families.clock_reading import CPUFREQ_FILES, read_cpufreq
from edgelab.drivers.families.common_reading import read_common
from edgelab.drivers.families.device_tree import MODEL
from edgelab.drivers.families.look import Look
from edgelab.drivers.families.node_family import NodeFamily
from edgelab.drivers.probe import Command, ProbeReply

_COUNTERS = "/sys/devices/system/cpu/cpu*/thermal_throttle"
_PRODUCT = "/sys/class/dmi/id/product_name"
_MACHINE = Command(name="uname", argv=("uname", "-m"), time_limit_s=2.0)


class LinuxFamily(NodeFamily):
    """See `edgelab.drivers.family.Family`."""

    name = "linux"
    poll_files: ClassVar = (
        *CPUFREQ_FILES,
        f"{_COUNTERS}/core_throttle_count",
        f"{_COUNTERS}/package_throttle_count",
    )
    full_files: ClassVar = (MODEL, _PRODUCT)
    full_commands: ClassVar = (_MACHINE,)

    def read(self, reply: ProbeReply) -> DeviceState:
        """See `Family.read`."""
        look = read_common(reply)
        _read_machine(look)
        _read_counters(look)
        clocks = read_cpufreq(look)
        return DeviceState(**look.closing(), clocks=clocks)


def _read_machine(look: Look) -> None:
    model = look.text(MODEL) or look.text(_PRODUCT) or None
    output = look.output("uname")
    machine = output.output.decode(errors="replace").strip() if output and output.exit_code == 0 else ""
    look.fields |= {"model": model, "identity": tuple(filter(None, (machine, model)))}
    if machine:
        look.cite("identity", "uname -m", machine)
    else:
        look.unanswered("identity", "uname", "uname -m")


def _read_counters(look: Look) -> None:
    """Throttle events of x86: every core has its own counter, the package shows the same one at each core."""
    cores = look.numbers(f"{_COUNTERS}/core_throttle_count")
    packages = look.numbers(f"{_COUNTERS}/package_throttle_count")
    counts: list[tuple[str, int]] = []
    if cores:
        counts.append(("core_throttle", sum(cores.values())))
    if packages:
        counts.append(("package_throttle", max(packages.values())))
    look.fields["throttle_counts"] = tuple(counts)
    look.fields["throttle_nodes"] = (*cores, *packages)
    if counts:
        said = ", ".join(f"{name} {count}" for name, count in counts)
        look.cite("throttling", f"{_COUNTERS}/*_throttle_count", said)
