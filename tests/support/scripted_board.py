"""A board in memory for tests of the lab layer: one GPU clock, a lease, a store for what was before."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from edgelab.drivers.check import Check
from edgelab.drivers.device_state import ClockDomain, DeviceState, LeaseHolder, PowerMode, SavedClocks
from edgelab.drivers.family import LockOutcome
from edgelab.drivers.probe import ProbeReply, ProbeRequest
from edgelab.drivers.profile import ClockPolicy, Profile
from edgelab.drivers.transport import CommandResult, LeaseHeld, LinkFailure
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.lab.board import Board
from edgelab.lab.device import Device

LOCKED_HZ = 1_000_000_000
IDLE_HZ = 300_000_000
NODE = "/sys/class/devfreq/gpu/cur_freq"
SAVED = ".edgelab/saved.json"

PROFILE = Profile(
    title="Scripted board",
    backend="llvm",
    clocks=ClockPolicy(lock=True, gpu_hz=LOCKED_HZ),
    required=("lease",),
)


class ScriptedTransport:
    """Files by path, and what is wrong with them. `down` is raised by everything while it is set."""

    def __init__(self) -> None:
        self.device = "scripted"
        self.files: dict[str, bytes] = {NODE: str(IDLE_HZ).encode()}
        self.boot_id = "boot-1"
        self.down: LinkFailure | None = None
        self.full_disk = False
        self.held_by: LeaseHolder | None = None
        self.freed = asyncio.Event()
        self.hot = False
        self.drifts = False
        self.looks = 0
        self.closed = False
        self.log: list[str] = []

    def _alive(self) -> None:
        if self.down is not None:
            raise self.down

    async def probe(self, request: ProbeRequest) -> ProbeReply:
        self._alive()
        self.looks += 1
        now_s = time.time()
        return ProbeReply(files=dict(self.files), refused={}, outputs={}, started_s=now_s, ended_s=now_s)

    async def run(
        self, argv: Sequence[str], time_limit_s: float, *, root: bool = False, stdin: bytes = b""
    ) -> CommandResult:
        self._alive()
        if argv[0] == "rm":
            self.files.pop(argv[-1], None)
        return CommandResult(0, b"", b"")

    async def read_many(self, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        self._alive()
        return {path: self.files.get(path) for path in paths}

    async def write(self, path: str, data: bytes, *, root: bool = False) -> None:
        self._alive()
        if self.full_disk and not path.startswith("/sys"):
            raise EvaluationFailure(FailureClass.INFRASTRUCTURE, "No space left on scripted.")
        self.log.append(f"write {path}")
        if not (self.drifts and path == NODE):
            self.files[path] = data

    @contextlib.asynccontextmanager
    async def lease(self, holder: LeaseHolder) -> AsyncIterator[None]:
        self._alive()
        if self.held_by is not None:
            raise LeaseHeld("held", self.held_by)
        self.held_by = holder
        try:
            yield
        finally:
            self.held_by = None
            self.freed.set()

    async def close(self) -> None:
        self.closed = True


class ScriptedFamily:
    """Judges one clock, one temperature and the lease."""

    name = "linux"

    def __init__(self, transport: ScriptedTransport) -> None:
        self._transport = transport

    def request(self, *, full: bool = True, under_load: bool = False) -> ProbeRequest:
        return ProbeRequest(files=(NODE, SAVED))

    def read(self, reply: ProbeReply) -> DeviceState:
        node, saved = reply.files.get(NODE), reply.files.get(SAVED)
        return DeviceState(
            read_s=reply.ended_s,
            round_trip_s=0.01,
            boot_id=self._transport.boot_id,
            power_mode=PowerMode("MAXN", 0),
            clocks=(ClockDomain(name="gpu", kind="gpu", current_hz=int(node) if node else None),),
            lease=self._transport.held_by,
            saved=msgspec.json.decode(saved, type=SavedClocks) if saved else None,
        )

    def judge(self, state: DeviceState, before: DeviceState | None) -> tuple[Check, ...]:
        clock = state.clock("gpu")
        assert clock is not None
        right = clock.current_hz == LOCKED_HZ
        held = state.lease
        return (
            Check(name="gpu_clock", ok=right, reason="" if right else f"gpu at {clock.current_hz} Hz."),
            Check(name="temperature", ok=not self._transport.hot, reason="It is hot."),
            Check(name="lease", ok=held is None, reason=f"Held by {held.owner}." if held else ""),
        )

    def saved(self, state: DeviceState, owner: str) -> SavedClocks:
        clock = state.clock("gpu")
        assert clock is not None
        return SavedClocks(
            family="linux",
            owner=owner,
            saved_s=state.read_s,
            boot_id=state.boot_id,
            power_mode=state.power_mode,
            nodes=((NODE, str(clock.current_hz)),),
        )

    async def lock(self, board, state, on_step) -> LockOutcome:
        await board.write(NODE, str(LOCKED_HZ).encode(), root=True)
        on_step("gpu set")
        return LockOutcome(done=True)

    async def restore(self, board, saved, on_step) -> LockOutcome:
        for path, text in saved.nodes:
            await board.write(path, text.encode(), root=True)
            on_step(f"{path} put back")
        return LockOutcome(done=True)

    def sampled_nodes(self, state: DeviceState) -> tuple[str, ...]:
        return (NODE,)

    def lock_lost(self, state: DeviceState, files: Mapping[str, bytes]) -> str | None:
        found = files.get(NODE)
        return None if found is None or int(found) == LOCKED_HZ else f"gpu at {int(found)} Hz"


def scripted_board(transport: ScriptedTransport | None = None, profile: Profile = PROFILE) -> Board:
    """Return a board over `transport`; its family reads and judges what the transport holds."""
    transport = transport or ScriptedTransport()
    device = Device(name="scripted", profile="scripted", backend="llvm", host="scripted.lab")
    return Board(device, profile, ScriptedFamily(transport), transport)
