"""A working session: lease, check, lock, verify, work, restore; and what happens when any of it fails."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from edgelab.drivers.device_state import LeaseHolder
from edgelab.drivers.transport import LinkFailure
from edgelab.drivers.worker_messages import DeviceReading
from edgelab.errors import ClocksLost, NotReadyError
from edgelab.events import ClocksLocked, ClocksRestored, DeviceAwaited, DeviceChecked, LockLost
from edgelab.lab.session import Session
from tests.support.scripted_board import (
    IDLE_HZ,
    LOCKED_HZ,
    NODE,
    PROFILE,
    SAVED,
    ScriptedTransport,
    scripted_board,
)


class Told:
    """Collects events and the times since which measurements were invalidated."""

    def __init__(self) -> None:
        self.events = []
        self.since_s: list[float] = []
        self.waiting = asyncio.Event()

    def emit(self, event) -> None:
        self.events.append(event)
        if isinstance(event, DeviceAwaited):
            self.waiting.set()

    def invalidate(self, since_s: float) -> int:
        self.since_s.append(since_s)
        return 2

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def transport() -> ScriptedTransport:
    return ScriptedTransport()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def session(told: Told) -> Session:
    return Session("run r1", told.emit, told.invalidate)


def clock_of(transport: ScriptedTransport) -> int:
    return int(transport.files[NODE])


async def test_clocks_are_locked_for_the_work_and_put_back_after_it(transport, session, told):
    async with session.on(scripted_board(transport)):
        assert clock_of(transport) == LOCKED_HZ
        assert transport.held_by.purpose == "run r1"
        assert SAVED in transport.files
        await session.verify()
    assert clock_of(transport) == IDLE_HZ
    assert transport.held_by is None
    assert SAVED not in transport.files
    assert [type(event) for event in told.events if not hasattr(event, "text")] == [
        DeviceChecked,
        ClocksLocked,
        ClocksRestored,
    ]


async def test_what_was_before_is_stored_before_the_first_change(transport, session):
    async with session.on(scripted_board(transport)):
        pass
    assert transport.log.index(f"write {SAVED}") < transport.log.index(f"write {NODE}")


async def test_a_lock_of_the_operator_stays(transport, session, told):
    board = scripted_board(transport)
    assert (await board.lock(lambda step: None)).locked
    async with session.on(board):
        pass
    assert clock_of(transport) == LOCKED_HZ
    assert SAVED in transport.files
    assert told.of(ClocksRestored) == []


async def test_a_lock_that_a_dead_run_left_is_restored(transport, session):
    board = scripted_board(transport)
    assert (await board.lock(lambda step: None, purpose="run r0")).locked
    async with session.on(board):
        pass
    assert clock_of(transport) == IDLE_HZ


async def test_a_board_that_is_not_fit_is_left_as_it_is(transport, session, told):
    transport.hot = True
    with pytest.raises(NotReadyError, match=r"not ready: It is hot\."):
        async with session.on(scripted_board(transport)):
            raise AssertionError("must not be reached")
    assert clock_of(transport) == IDLE_HZ
    assert transport.held_by is None
    assert told.of(DeviceChecked) == [DeviceChecked(device="scripted", ready=False, reasons=("It is hot.",))]


async def test_clocks_that_do_not_hold_are_put_back_and_refused(transport, session):
    transport.drifts = True
    with pytest.raises(NotReadyError, match=r"could not be locked: gpu at 300000000 Hz"):
        async with session.on(scripted_board(transport)):
            raise AssertionError("must not be reached")
    assert SAVED not in transport.files
    assert transport.held_by is None


async def test_nothing_is_changed_where_nothing_can_be_stored(transport, session):
    transport.full_disk = True
    with pytest.raises(NotReadyError, match="No space left"):
        async with session.on(scripted_board(transport)):
            raise AssertionError("must not be reached")
    assert clock_of(transport) == IDLE_HZ
    assert f"write {NODE}" not in transport.log


async def test_the_clocks_are_put_back_when_the_work_fails(transport, session):
    with pytest.raises(RuntimeError):
        async with session.on(scripted_board(transport)):
            raise RuntimeError
    assert clock_of(transport) == IDLE_HZ


async def test_the_clocks_are_put_back_when_the_work_is_cancelled(transport, session):
    inside = asyncio.Event()

    async def work():
        async with session.on(scripted_board(transport)):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock_of(transport) == IDLE_HZ
    assert transport.held_by is None


async def test_a_held_board_is_waited_for_and_its_holder_told_once(transport, session, told, monkeypatch):
    monkeypatch.setattr("edgelab.lab.session._LEASE_POLL_S", 0.001)
    other = LeaseHolder(owner="ann@desk", purpose="run r7", pid=7, since_s=0.0)
    board = scripted_board(transport)
    taken, release = asyncio.Event(), asyncio.Event()

    async def hold():
        async with transport.lease(other):
            taken.set()
            await release.wait()

    holding = asyncio.create_task(hold())
    await taken.wait()

    async def work():
        async with session.on(board):
            return transport.held_by.purpose

    working = asyncio.create_task(work())
    await told.waiting.wait()
    release.set()
    assert await working == "run r1"
    await holding
    (awaited,) = told.of(DeviceAwaited)
    assert "run r7 of ann@desk" in awaited.holder


async def test_lost_clocks_invalidate_and_are_locked_again(transport, session, told):
    async with session.on(scripted_board(transport)):
        await session.verify()
        transport.files[NODE] = b"408000000"
        with pytest.raises(ClocksLost, match="gpu at 408000000 Hz") as caught:
            await session.verify()
        await session.recover(caught.value)
        assert clock_of(transport) == LOCKED_HZ
    assert len(told.since_s) == 1
    (lost,) = told.of(LockLost)
    assert lost.invalidated == 2
    assert told.of(ClocksLocked)[-1].again
    # What the board had before the session is put back, not what it had when the lock was lost.
    assert clock_of(transport) == IDLE_HZ


async def test_a_profile_may_forbid_to_lock_again(transport, session):
    policy = msgspec.structs.replace(PROFILE.clocks, relock=False)
    board = scripted_board(transport, msgspec.structs.replace(PROFILE, clocks=policy))
    async with session.on(board):
        lost = ClocksLost("lost")
        with pytest.raises(ClocksLost):
            await session.recover(lost)


async def test_the_watch_judges_what_the_worker_reads(transport, session):
    async with session.on(scripted_board(transport)):
        watch = session.watch
        assert watch.nodes == (NODE,)
        watch.confirm(reading({NODE: str(LOCKED_HZ)}))
        watch.confirm(reading({NODE: None}))
        with pytest.raises(ClocksLost, match="gpu at 408000000 Hz"):
            watch.confirm(reading({NODE: "408000000"}))
        assert watch.sampled(reading({NODE: "408000000"})).gpu_freq_hz == 408_000_000


async def test_a_link_lost_at_the_end_leaves_the_lock_to_restore_later(transport, session, told):
    board = scripted_board(transport)
    failure = LinkFailure("lost", "The link to scripted broke.")

    async def work() -> None:
        async with session.on(board):
            transport.down = failure
            raise failure

    with pytest.raises(LinkFailure):
        await work()
    (restored,) = told.of(ClocksRestored)
    assert "edgelab devices restore scripted" in restored.problem
    transport.down = None
    async with session.on(board):
        assert clock_of(transport) == LOCKED_HZ
    assert clock_of(transport) == IDLE_HZ


async def test_an_unchecked_session_only_takes_the_lease(transport, told):
    session = Session("run r1", told.events.append, told.invalidate, checked=False)
    async with session.on(scripted_board(transport)):
        assert transport.held_by is not None
        assert session.watch is None
        await session.verify()
    assert transport.looks == 0


def reading(nodes: dict[str, str | None]) -> DeviceReading:
    return DeviceReading(
        cpu_freq_hz=None, temperature_c=None, load_1min=None, memory_available_bytes=None, nodes=nodes
    )
