"""Boards with Rockchip's RK3588: GPU, memory and CPU clusters through their nodes, the real clock from debugfs."""

from __future__ import annotations

from typing import ClassVar

from edgelab.drivers.device_state import DeviceState
from edgelab.drivers.families.clock_reading import CPUFREQ_FILES, DEVFREQ_FILES, read_cpufreq, read_devfreq
from edgelab.drivers.families.common_reading import read_common
from edgelab.drivers.families.device_tree import DEVICE_TREE_FILES, read_device_tree
from edgelab.drivers.families.look import Look
from edgelab.drivers.families.node_family import NodeFamily
from edgelab.drivers.probe import ProbeReply
from edgelab.drivers.readings.clk_summary import gpu_rate_hz

CLOCK_TREE = "/sys/kernel/debug/clk/clk_summary"


class Rk3588Family(NodeFamily):
    """See `edgelab.drivers.family.Family`.

    The GPU is held by `userspace` and its set point where the kernel has that governor (Rockchip's own
    recipe), else by `performance`, else by equal limits; `dmc_ondemand` is never written to it.
    """

    name = "rk3588"
    poll_files: ClassVar = (*DEVICE_TREE_FILES, *DEVFREQ_FILES, *CPUFREQ_FILES)
    root_files: ClassVar = (CLOCK_TREE,)

    def read(self, reply: ProbeReply) -> DeviceState:
        """See `Family.read`."""
        look = read_common(reply)
        read_device_tree(look)
        clocks = (*read_devfreq(look, measured_hz=_real_clock(look)), *read_cpufreq(look))
        return DeviceState(**look.closing(), clocks=clocks)


def _real_clock(look: Look) -> int | None:
    """Return what the clock tree says of the GPU; an idle one says nothing there."""
    tree = look.reply.files.get(CLOCK_TREE)
    if tree is None:
        if look.reply.sudo_problem:
            look.unknown("real_clock", f"{CLOCK_TREE} needs root: {look.reply.sudo_problem}")
        elif look.output("sudo") is None:
            look.unknown("real_clock", f"only a full check reads {CLOCK_TREE}")
        else:
            look.unread("real_clock", CLOCK_TREE)
        return None
    freq_hz = gpu_rate_hz(tree.decode(errors="replace"))
    if freq_hz is None:
        idle = "the GPU is idle, and shows its clock under load alone"
        why = "no row of the GPU is enabled" if look.fields["under_load"] else idle
        look.unknown("real_clock", f"{CLOCK_TREE}: {why}")
        return None
    look.cite("real_clock", CLOCK_TREE, f"clk_gpu {freq_hz}")
    return freq_hz
