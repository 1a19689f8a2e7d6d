"""An RK3588 in memory: devfreq nodes of GPU, memory and NPU, three CPU clusters, the clock tree of its GPU."""

from __future__ import annotations

from edgelab.drivers.transport import CommandResult
from tests.drivers.families.fake_board import DISK, FakeBoard, FakeKernel, cpufreq, devfreq, proc

GPU = "/sys/class/devfreq/fb000000.gpu"
DMC = "/sys/class/devfreq/dmc"
CLOCK_TREE = "/sys/kernel/debug/clk/clk_summary"
GPU_STEPS_HZ = (300_000_000, 400_000_000, 600_000_000, 800_000_000, 900_000_000, 1_000_000_000)
DMC_STEPS_HZ = (534_000_000, 1_320_000_000, 1_968_000_000, 2_400_000_000)
GOVERNORS = "rknpu_ondemand dmc_ondemand userspace powersave performance simple_ondemand"


def fake_rk3588(
    *,
    gpu_governors: str = GOVERNORS,
    gpu_steps_hz: tuple[int, ...] = GPU_STEPS_HZ,
    strict_limits: bool = False,
) -> FakeBoard:
    """Return an idle board as it is after booting."""
    files = {
        **proc("Radxa ROCK 5B"),
        "/proc/device-tree/compatible": "radxa,rock-5b\0rockchip,rk3588\0",
        **devfreq("fb000000.gpu", gpu_steps_hz, gpu_governors, "simple_ondemand"),
        f"{GPU}/load": "0@300000000Hz",
        **devfreq("dmc", DMC_STEPS_HZ, GOVERNORS, "dmc_ondemand"),
        **devfreq("fdab0000.npu", GPU_STEPS_HZ, GOVERNORS, "rknpu_ondemand"),
        **cpufreq(0, "0 1 2 3", (408_000, 1_200_000, 1_800_000)),
        **cpufreq(4, "4 5", (408_000, 1_200_000, 2_256_000)),
        **cpufreq(6, "6 7", (408_000, 1_200_000, 2_304_000)),
        CLOCK_TREE: clock_tree(None),
    }
    tools = {"df": DISK, "true": lambda argv, stdin: CommandResult(0, b"", b"")}
    return FakeBoard(FakeKernel(files, strict_limits=strict_limits), tools)


def clock_tree(gpu_hz: int | None) -> str:
    """Return debugfs' clk_summary; without a clock the GPU is idle and its rows are not enabled."""
    rate, count = (gpu_hz, 1) if gpu_hz is not None else (594_000_000, 0)
    head = "   clock                          count    count    count        rate   accuracy phase  cycle    enable"
    rows = (
        f" scmi_clk_gpu                         {count}        {count}        0   {rate}          0     0  50000         Y",
        " xin24m                              21       24        0    24000000          0     0  50000         Y",
        f"          clk_gpu                     {count}        {count}        0   {rate}          0     0  50000         Y",
    )
    return "\n".join((head, "-" * len(head), *rows))
