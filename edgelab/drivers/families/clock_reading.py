"""Clocks from the kernel's nodes: devfreq for GPU, memory and NPU, cpufreq for the clusters of the CPU."""

from __future__ import annotations

import re

from edgelab.drivers.device_state import ClockDomain, ClockKind
from edgelab.drivers.families.clock_nodes import CPUFREQ, DEVFREQ, NodeNames
from edgelab.drivers.families.look import Look
from edgelab.drivers.readings.loads import read_rated_load
from edgelab.drivers.readings.node_lines import whole

_DEVFREQ = "/sys/class/devfreq/*"
_CPUFREQ = "/sys/devices/system/cpu/cpufreq/policy*"
_TREE_NAME = "device/of_node/name"

DEVFREQ_FILES = (
    *(f"{_DEVFREQ}/{name}" for name in (DEVFREQ.current, DEVFREQ.low, DEVFREQ.high, DEVFREQ.governor)),
    f"{_DEVFREQ}/available_frequencies",
    f"{_DEVFREQ}/available_governors",
    f"{_DEVFREQ}/load",
    f"{_DEVFREQ}/{DEVFREQ.setpoint}",
    f"{_DEVFREQ}/{_TREE_NAME}",
)
CPUFREQ_FILES = (
    *(f"{_CPUFREQ}/{name}" for name in (CPUFREQ.current, CPUFREQ.low, CPUFREQ.high, CPUFREQ.governor)),
    f"{_CPUFREQ}/scaling_available_frequencies",
    f"{_CPUFREQ}/scaling_available_governors",
    f"{_CPUFREQ}/related_cpus",
)

_GPU = re.compile(r"(?:\.gpu(?:-[a-z]+)?|gv11b|gp10b|ga10b|gb10b|gm20b|gpu-gpc-0)$|^gpu$")
"""A GPU by the name of its devfreq node (RK3588, Jetson by JetPack version) or by that in the device tree
(jetson_stats jtop/core/gpu.py looks for the same ones)."""


def read_devfreq(
    look: Look, *, measured_hz: int | None = None, load_percent: float | None = None
) -> tuple[ClockDomain, ...]:
    """Return the clocks of devfreq, each with the node folder it was read from.

    `measured_hz` and `load_percent` are the GPU's where another source has them. Says why there is no
    GPU's clock when there is none.
    """
    clocks = []
    for folder in _folders(look, _DEVFREQ):
        name = folder.rpartition("/")[2]
        kind = _kind(name, look.text(f"{folder}/{_TREE_NAME}") or "")
        if kind is None:
            continue
        mine = kind == "gpu"
        clocks.append(
            _clock(
                look,
                folder,
                DEVFREQ,
                name=name,
                kind=kind,
                measured_hz=measured_hz if mine else None,
                load_percent=load_percent if mine and load_percent is not None else _load(look, folder),
            )
        )
    for kind in ("gpu", "memory"):
        if not any(clock.kind == kind for clock in clocks):
            look.unread(f"{kind}_clock", f"{_DEVFREQ}/{DEVFREQ.current}")
    return tuple(clocks)


def read_cpufreq(look: Look) -> tuple[ClockDomain, ...]:
    """Return the clocks of the CPU's clusters, in order of their first CPU."""
    folders = sorted(_folders(look, _CPUFREQ), key=_number_of)
    if not folders:
        look.unread("cpu_clock", f"{_CPUFREQ}/{CPUFREQ.current}")
    return tuple(
        _clock(look, folder, CPUFREQ, name=folder.rpartition("/")[2], kind="cpu") for folder in folders
    )


def _number_of(folder: str) -> int:
    return whole(folder.rpartition("policy")[2]) or 0


def _folders(look: Look, pattern: str) -> list[str]:
    """Return the folders of clocks: what shows any of their main nodes, read or refused."""
    depth = pattern.count("/") + 1
    paths = (*look.matching(f"{pattern}/*"), *look.refused(f"{pattern}/*"))
    return sorted({"/".join(path.split("/")[:depth]) for path in paths})


def _kind(name: str, tree_name: str) -> ClockKind | None:
    if _GPU.search(name) or _GPU.search(tree_name):
        return "gpu"
    if name == "dmc":
        return "memory"
    return "npu" if name.endswith(".npu") else None


def _clock(
    look: Look,
    folder: str,
    names: NodeNames,
    *,
    name: str,
    kind: ClockKind,
    measured_hz: int | None = None,
    load_percent: float | None = None,
) -> ClockDomain:
    prefix = "scaling_" if names is CPUFREQ else ""

    def freq_hz(node: str) -> int | None:
        number = whole(look.text(f"{folder}/{node}"))
        return None if number is None else number * names.unit_hz

    table = (look.text(f"{folder}/{prefix}available_frequencies") or "").split()
    steps = [step for step in map(whole, table) if step is not None]
    current_hz = freq_hz(names.current)
    return ClockDomain(
        name=name,
        kind=kind,
        current_hz=current_hz,
        measured_hz=measured_hz,
        min_hz=freq_hz(names.low),
        max_hz=freq_hz(names.high),
        # Vendors' kernels list them in either order.
        available_hz=tuple(sorted(step * names.unit_hz for step in steps)),
        setpoint_hz=freq_hz(names.setpoint),
        governor=look.text(f"{folder}/{names.governor}") or None,
        governors=tuple((look.text(f"{folder}/{prefix}available_governors") or "").split()),
        load_percent=load_percent,
        source=folder,
        problem="" if current_hz is not None else look.why_unread(f"{folder}/{names.current}"),
    )


def _load(look: Look, folder: str) -> float | None:
    """Return the load that Rockchip's kernels show beside a clock, in per cent."""
    return read_rated_load(look.text(f"{folder}/load") or "").load
