"""A board in memory: its kernel's nodes with their rules, its tools, and a link that can break at any change."""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from edgelab.drivers.device_state import LeaseHolder
from edgelab.drivers.probe import Command, CommandOutput, ProbeReply, ProbeRequest
from edgelab.drivers.transport import CommandResult, LinkFailure, OnBytes, WorkerConnection
from edgelab.errors import EvaluationFailure, FailureClass

NOW_S = 1_796_000_000.0
SAVED = ".edgelab/saved.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
Tool = Callable[[Sequence[str], bytes], CommandResult]


class Refused(Exception):
    """The kernel's word for why a write failed."""


class FakeKernel:
    """Nodes by path. `strict_limits` refuses a lower limit above the upper one, as kernels before 5.5 do."""

    def __init__(self, files: Mapping[str, str], *, strict_limits: bool = False) -> None:
        self.files = dict(files)
        self.strict_limits = strict_limits
        self.read_only: set[str] = set()
        self.lists_but_refuses: set[str] = set()
        self.stuck: dict[str, str] = {}

    def write(self, path: str, value: str) -> None:
        """Write a node, with what the kernel makes of it. Raises `Refused`."""
        if path not in self.files or path in self.read_only:
            raise Refused("Permission denied" if path in self.files else "No such file or directory")
        folder, _, name = path.rpartition("/")
        if name == "set_freq":
            folder = folder.removesuffix("/userspace")
        if name in ("governor", "scaling_governor"):
            self._set_governor(folder, path, value)
        elif name in ("min_freq", "max_freq", "scaling_min_freq", "scaling_max_freq"):
            self._set_limit(folder, path, value)
        else:
            self.files[path] = value
        self.files |= self.stuck
        self._settle(folder)

    def _set_governor(self, folder: str, path: str, value: str) -> None:
        listed = self.files.get(f"{folder}/{_prefix(folder)}available_governors", "").split()
        if value not in listed or value in self.lists_but_refuses:
            raise Refused("Invalid argument")
        if value == "dmc_ondemand" and ".gpu" in folder:
            raise AssertionError("dmc_ondemand was written to the GPU: the kernel is gone")
        self.files[path] = value
        set_point = f"{folder}/userspace/set_freq"
        self.files.pop(set_point, None)
        if value == "userspace" and "devfreq" in folder:
            self.files[set_point] = self.files[f"{folder}/cur_freq"]

    def _set_limit(self, folder: str, path: str, value: str) -> None:
        low, high = f"{folder}/{_prefix(folder)}min_freq", f"{folder}/{_prefix(folder)}max_freq"
        wanted = {low: self.files[low], high: self.files[high], path: value}
        if self.strict_limits and int(wanted[low]) > int(wanted[high]):
            raise Refused("Invalid argument")
        self.files[path] = value

    def _settle(self, folder: str) -> None:
        """Set the present frequency as governor and limits have it; an idle board otherwise sits at the bottom."""
        prefix = _prefix(folder)
        current = f"{folder}/{prefix}cur_freq"
        if current not in self.files or current in self.stuck:
            return
        low = int(self.files[f"{folder}/{prefix}min_freq"])
        high = int(self.files[f"{folder}/{prefix}max_freq"])
        governor = self.files[f"{folder}/{prefix}governor"]
        freq = low
        if governor == "performance":
            freq = high
        elif governor == "userspace":
            freq = int(self.files.get(f"{folder}/userspace/set_freq", low))
        self.files[current] = str(max(min(freq, high), min(low, high)))


def _prefix(folder: str) -> str:
    return "scaling_" if "cpufreq" in folder else ""


class FakeBoard:
    """Implements `Transport`. `changes_left` counts down at every change; at zero the link is gone.

    `sudo` False denies root. `tools` are the board's programs by absolute path or name.
    """

    def __init__(self, kernel: FakeKernel, tools: Mapping[str, Tool]) -> None:
        self.device = "fake"
        self.kernel = kernel
        self.tools = dict(tools)
        self.sudo = True
        self.changes_left: int | None = None
        self.breaks_after = False
        self.denied: dict[str, str] = {}
        self.log: list[str] = []
        self.round_trips = 0

    @property
    def files(self) -> dict[str, str]:
        """All files of the board."""
        return self.kernel.files

    def change(self, what: str, act: Callable[[], None]) -> None:
        """Do one change, unless the link breaks before it; it may also break right after it."""
        last = self.changes_left == 0
        if last and not self.breaks_after:
            raise LinkFailure("lost", f"The link broke before {what}.")
        act()
        self.log.append(what)
        if last:
            raise LinkFailure("lost", f"The link broke after {what}.")
        if self.changes_left is not None:
            self.changes_left -= 1

    async def probe(self, request: ProbeRequest) -> ProbeReply:
        self.round_trips += 1
        patterns = (*request.files, *(request.root_files if self.sudo else ()))
        found = {
            path
            for path in self.files
            if any(fnmatch.fnmatchcase(path, one) and path.count("/") == one.count("/") for one in patterns)
        }
        denied = {path: self.denied[path] for path in found if path in self.denied}
        wants_root = bool(request.root_files) or any(command.root for command in request.commands)
        return ProbeReply(
            files={path: self.files[path].encode() + b"\n" for path in found if path not in denied},
            refused=denied,
            outputs={
                command.name: output
                for command in request.commands
                if (output := self._output(command)) is not None
            },
            sudo_problem="sudo: a password is required" if wants_root and not self.sudo else "",
            board_time_s=NOW_S,
            started_s=NOW_S - 0.05,
            ended_s=NOW_S,
        )

    def _output(self, command: Command) -> CommandOutput | None:
        if command.root and not self.sudo:
            return None
        tool = self.tools.get(command.argv[0])
        if tool is None:
            return CommandOutput(127, f"sh: {command.argv[0]}: not found".encode())
        try:
            result = tool(command.argv, b"")
        except TimeoutError:
            return CommandOutput(None, b"")
        return CommandOutput(result.exit_code, result.stdout + result.stderr)

    async def run(
        self, argv: Sequence[str], time_limit_s: float, *, root: bool = False, stdin: bytes = b""
    ) -> CommandResult:
        self.round_trips += 1
        if root and not self.sudo:
            raise LinkFailure("sudo", "fake: sudo: a password is required.")
        if argv[0] == "mkdir":
            return CommandResult(0, b"", b"")
        if argv[0] in ("rm", "mv"):
            self.change(" ".join(argv), lambda: self._move_or_remove(argv))
            return CommandResult(0, b"", b"")
        try:
            return self.tools[argv[0]](argv, stdin)
        except TimeoutError as error:
            message = f"{argv[0]} did not end within {time_limit_s:g} s on fake and was killed."
            raise EvaluationFailure(FailureClass.INFRASTRUCTURE, message) from error

    def _move_or_remove(self, argv: Sequence[str]) -> None:
        if argv[0] == "mv":
            self.files[argv[-1]] = self.files.pop(argv[-2])
        else:
            for path in argv[1:]:
                self.files.pop(path, None)

    async def read_many(self, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        self.round_trips += 1
        return {path: self.files[path].encode() if path in self.files else None for path in paths}

    async def write(self, path: str, data: bytes, *, root: bool = False) -> None:
        self.round_trips += 1
        if root and not self.sudo:
            raise LinkFailure("sudo", "fake: sudo: a password is required.")
        if not path.startswith("/"):
            self.change(f"write {path}", lambda: self.files.update({path: data.decode()}))
            return
        try:
            self.change(
                f"{path} = {data.decode().strip()}", lambda: self.kernel.write(path, data.decode().strip())
            )
        except Refused as error:
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE, f"fake: {path}: {error}.", detail=f"tee: {path}: {error}"
            ) from error

    def nodes(self) -> dict[str, str]:
        """What the kernel's knobs hold, without EdgeLab's own files."""
        return {path: value for path, value in self.files.items() if not path.startswith(".edgelab")}

    async def put(self, content: bytes | Path, *, progress: OnBytes | None = None) -> str:
        raise NotImplementedError

    @contextlib.asynccontextmanager
    async def lease(self, holder: LeaseHolder) -> AsyncIterator[None]:
        yield

    async def start_worker(self, archive: Path) -> WorkerConnection:
        raise NotImplementedError

    async def close(self) -> None:
        pass


def fixed_tool(text: str, exit_code: int = 0) -> Tool:
    """Return a tool that always prints the same."""
    return lambda argv, stdin: CommandResult(exit_code, text.encode(), b"")


DISK = fixed_tool(
    "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 61255492 20000000 38123456 35% /\n"
)


def devfreq(name: str, steps_hz: Sequence[int], governors: str, governor: str) -> dict[str, str]:
    """Return the nodes of one devfreq device, idle at its lowest step."""
    folder = f"/sys/class/devfreq/{name}"
    return {
        f"{folder}/available_frequencies": " ".join(map(str, steps_hz)),
        f"{folder}/available_governors": governors,
        f"{folder}/governor": governor,
        f"{folder}/min_freq": str(min(steps_hz)),
        f"{folder}/max_freq": str(max(steps_hz)),
        f"{folder}/cur_freq": str(min(steps_hz)),
    }


def cpufreq(policy: int, cpus: str, steps_khz: Sequence[int], governor: str = "schedutil") -> dict[str, str]:
    """Return the nodes of one cpufreq policy, idle at its lowest step."""
    folder = f"/sys/devices/system/cpu/cpufreq/policy{policy}"
    return {
        f"{folder}/related_cpus": cpus,
        f"{folder}/scaling_available_frequencies": " ".join(map(str, steps_khz)),
        f"{folder}/scaling_available_governors": "conservative ondemand userspace powersave performance schedutil",
        f"{folder}/cpuinfo_max_freq": str(max(steps_khz)),
        f"{folder}/cpuinfo_min_freq": str(min(steps_khz)),
        f"{folder}/scaling_governor": governor,
        f"{folder}/scaling_min_freq": str(min(steps_khz)),
        f"{folder}/scaling_max_freq": str(max(steps_khz)),
        f"{folder}/scaling_cur_freq": str(min(steps_khz)),
    }


def proc(model: str) -> dict[str, str]:
    """Return the files of /proc and of heat that every board has."""
    return {
        BOOT_ID: "11111111-2222-3333-4444-555555555555",
        "/proc/uptime": "1200.50 9000.10",
        "/proc/loadavg": "0.08 0.05 0.01 1/312 4711",
        "/proc/stat": "cpu  100 0 100 10000 0 0 0 0 0 0\n"
        + "\n".join(f"cpu{index} 10 0 10 1000 0 0 0 0 0 0" for index in range(8)),
        "/proc/meminfo": "MemTotal: 64349628 kB\nMemFree: 50000000 kB\nMemAvailable: 58000000 kB",
        "/proc/device-tree/model": model,
        "/sys/class/thermal/thermal_zone0/type": "soc-thermal",
        "/sys/class/thermal/thermal_zone0/temp": "41500",
    }
