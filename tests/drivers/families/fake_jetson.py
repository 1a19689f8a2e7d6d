"""A Jetson AGX Orin in memory: nvpmodel and jetson_clocks over fake nodes, in JetPack 6's formats."""

from __future__ import annotations

from collections.abc import Sequence

from edgelab.drivers.transport import CommandResult
from tests.drivers.families.fake_board import BOOT_ID, DISK, FakeBoard, FakeKernel, cpufreq, devfreq, proc

GPU = "/sys/class/devfreq/17000000.gpu"
EMC = "/sys/kernel/debug/bpmp/debug/clk/emc"
STATUS = "/var/lib/nvpmodel/status"
OC = "/sys/class/hwmon/hwmon4"
POLICIES = (0, 4, 8)
GPU_STEPS_HZ = (306_000_000, 408_000_000, 612_000_000, 816_000_000, 1_020_000_000, 1_300_500_000)
CPU_STEPS_KHZ = (729_600, 1_190_400, 1_497_600, 2_201_600)

MODES: dict[int, tuple[str, int, int]] = {
    0: ("MAXN", 1_300_500_000, 2_201_600),
    2: ("MODE_30W", 612_000_000, 1_497_600),
    3: ("MODE_50W", 816_000_000, 1_497_600),
}
"""By id: name, the GPU's cap in Hz, the CPUs' in kHz."""


class FakeJetson(FakeBoard):
    """`asks_reboot` makes every change of mode ask for one; `hung` never answers a query."""

    def __init__(self, mode: int = 2, *, strict_limits: bool = False) -> None:
        kernel = FakeKernel(_files(), strict_limits=strict_limits)
        tools = {
            "/usr/sbin/nvpmodel": self.nvpmodel,
            "/usr/bin/jetson_clocks": self.jetson_clocks,
            "true": lambda argv, stdin: CommandResult(0, b"", b""),
            "df": DISK,
        }
        super().__init__(kernel, tools)
        self.asks_reboot = False
        self.hung = False
        self.rebooted = False
        self.units = 8
        self._apply(mode)
        self.log.clear()

    def _apply(self, mode: int) -> None:
        _, gpu_hz, cpu_khz = MODES[mode]
        self.change("nvpmodel: status", lambda: self.files.update({STATUS: f"pmode:{mode:04}"}))
        self._set(f"{GPU}/min_freq", str(GPU_STEPS_HZ[0]))
        self._set(f"{GPU}/max_freq", str(gpu_hz))
        for policy in POLICIES:
            folder = f"/sys/devices/system/cpu/cpufreq/policy{policy}"
            self._set(f"{folder}/scaling_min_freq", str(CPU_STEPS_KHZ[0]))
            self._set(f"{folder}/scaling_max_freq", str(cpu_khz))

    def _set(self, path: str, value: str) -> None:
        def write() -> None:
            if path.startswith("/sys/kernel/debug"):
                self.files[path] = value
            else:
                self.kernel.write(path, value)

        self.change(f"{path} = {value}", write)

    def boot(self) -> None:
        """Boot: clocks fall back to those of the mode, which stays."""
        self.files[BOOT_ID] = "99999999-2222-3333-4444-555555555555"
        self.files["/proc/uptime"] = "31.0 100.0"
        self._set(f"{EMC}/mrq_rate_locked", "0")
        self._set(f"{EMC}/rate", "2133000000")
        self._apply(int(self.files[STATUS].removeprefix("pmode:")))

    def nvpmodel(self, argv: Sequence[str], stdin: bytes) -> CommandResult:
        if self.hung:
            raise TimeoutError
        if argv[1] == "-q":
            mode = int(self.files[STATUS].removeprefix("pmode:"))
            return CommandResult(0, f"NV Power Mode: {MODES[mode][0]}\n{mode}\n".encode(), b"")
        wanted = int(argv[2])
        if self.asks_reboot:
            asked = (
                "NVPM WARN: Golden image context is already created\n"
                f"NVPM WARN: Reboot required for changing to this power mode: {wanted}\n"
                "NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:\n"
            )
            if stdin.strip().lower() == b"yes":
                self.rebooted = True
            refused = "NVPM ERROR: bad input!\nNVPM ERROR: optMask is 1, no request for power mode\n"
            return CommandResult(0, asked.encode(), refused.encode())
        self._apply(wanted)
        return CommandResult(0, b"", b"")

    def jetson_clocks(self, argv: Sequence[str], stdin: bytes) -> CommandResult:
        action = argv[1] if len(argv) > 1 else ""
        if action == "--show":
            return CommandResult(0, self._shown().encode(), b"")
        if action == "--store":
            kept = "\n".join(f"{path}:{self.files[path]}" for path in self._knobs())
            self.change(f"store {argv[2]}", lambda: self.files.update({argv[2]: kept}))
        elif action == "--restore":
            for line in self.files[argv[2]].splitlines():
                path, _, value = line.partition(":")
                self._set(path, value)
        else:
            self._lock()
        return CommandResult(0, b"", b"")

    def _knobs(self) -> list[str]:
        folders = [f"/sys/devices/system/cpu/cpufreq/policy{policy}" for policy in POLICIES]
        cpu = [
            f"{folder}/scaling_{name}" for folder in folders for name in ("governor", "min_freq", "max_freq")
        ]
        return [*cpu, f"{GPU}/min_freq", f"{GPU}/max_freq", f"{EMC}/rate", f"{EMC}/mrq_rate_locked"]

    def _lock(self) -> None:
        for policy in POLICIES:
            folder = f"/sys/devices/system/cpu/cpufreq/policy{policy}"
            self._set(f"{folder}/scaling_governor", "performance")
            self._set(f"{folder}/scaling_min_freq", self.files[f"{folder}/scaling_max_freq"])
        self._set(f"{GPU}/min_freq", self.files[f"{GPU}/max_freq"])
        self._set(f"{EMC}/rate", self.files[f"{EMC}/max_rate"])
        self._set(f"{EMC}/mrq_rate_locked", "1")

    def _shown(self) -> str:
        cpus = [self._cpu_line(cpu) for cpu in range(12)]
        gpu = [self.files[f"{GPU}/{name}_freq"] for name in ("min", "max", "cur")]
        emc = [self.files[f"{EMC}/{name}"] for name in ("min_rate", "max_rate", "rate", "mrq_rate_locked")]
        return "\n".join(
            (
                "SOC family:tegra234  Machine:NVIDIA Jetson AGX Orin Developer Kit",
                "Online CPUs: 0-11",
                *cpus,
                f"GPU MinFreq={gpu[0]} MaxFreq={gpu[1]} CurrentFreq={gpu[2]}",
                f"Active GPU TPCs: {self.units}",
                f"EMC MinFreq={emc[0]} MaxFreq={emc[1]} CurrentFreq={emc[2]} FreqOverride={emc[3]}",
                "FAN Dynamic Speed Control=nvfancontrol hwmon4_pwm1=72",
                f"NV Power Mode: {MODES[int(self.files[STATUS].removeprefix('pmode:'))][0]}",
            )
        )

    def _cpu_line(self, cpu: int) -> str:
        folder = f"/sys/devices/system/cpu/cpufreq/policy{cpu // 4 * 4}"
        low, high, now, governor = (
            self.files[f"{folder}/scaling_{name}"]
            for name in ("min_freq", "max_freq", "cur_freq", "governor")
        )
        said = f"Online=1 Governor={governor} MinFreq={low} MaxFreq={high} CurrentFreq={now}"
        return f"cpu{cpu}:  {said} IdleStates: WFI=1 c7=1 "


def _files() -> dict[str, str]:
    conf = "\n".join(
        f"< POWER_MODEL ID={number} NAME={name} >\nTPC_POWER_GATING TPC_PG_MASK 0\nGPU MAX_FREQ {gpu_hz}\n"
        for number, (name, gpu_hz, _) in MODES.items()
    )
    files = {
        **proc("NVIDIA Jetson AGX Orin Developer Kit"),
        **devfreq("17000000.gpu", GPU_STEPS_HZ, "nvhost_podgov userspace performance", "nvhost_podgov"),
        f"{GPU}/device/of_node/name": "gpu",
        "/sys/devices/platform/gpu.0/load": "12",
        "/etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, "
        "DATE: Wed Jan  8 01:49:37 UTC 2025",
        "/etc/nvpmodel.conf": f"{conf}\n< PM_CONFIG DEFAULT=2 >",
        STATUS: "pmode:0002",
        f"{EMC}/rate": "2133000000",
        f"{EMC}/min_rate": "204000000",
        f"{EMC}/max_rate": "3199000000",
        f"{EMC}/mrq_rate_locked": "0",
        f"{OC}/name": "soctherm_oc",
        f"{OC}/oc1_event_cnt": "0",
        f"{OC}/oc2_event_cnt": "3",
        f"{OC}/oc3_event_cnt": "812",
    }
    for policy in POLICIES:
        files |= cpufreq(policy, " ".join(str(policy + offset) for offset in range(4)), CPU_STEPS_KHZ)
    return files
