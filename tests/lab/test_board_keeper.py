"""The keeper of one device: links that come and go, looks, actions, leases of others, lost locks."""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import msgspec
import pytest

from edgelab.drivers.device_state import LeaseHolder
from edgelab.drivers.transport import LinkFailure
from edgelab.lab import board_keeper
from edgelab.lab.board_keeper import BoardKeeper
from edgelab.lab.monitor_messages import Ask
from tests.support.scripted_board import IDLE_HZ, LOCKED_HZ, NODE, ScriptedTransport, scripted_board

OTHER = LeaseHolder(owner="ann@desk", purpose="run r7", pid=7, since_s=0.0)


class Watched:
    """A keeper over a scripted board, and its views; `until` waits for a view of some kind."""

    def __init__(self, transport: ScriptedTransport) -> None:
        self.transport = transport
        self.opened: list[tuple[str | None, bool]] = []
        self.refuse: list[LinkFailure] = []
        self.since: list[tuple[str, float]] = []
        self.views = []
        self._changed = asyncio.Event()
        self.keeper = BoardKeeper("scripted", self._open, self._publish, self._invalidate)

    @contextlib.asynccontextmanager
    async def _open(self, *, password, trust_new_key):
        self.opened.append((password, trust_new_key))
        if self.refuse:
            raise self.refuse.pop(0)
        yield scripted_board(self.transport)

    def _publish(self, view) -> None:
        self.views.append(view)
        self._changed.set()

    def _invalidate(self, device: str, since_s: float) -> int:
        self.since.append((device, since_s))
        return 3

    async def until(self, wanted, limit_s: float = 5.0):
        """Return the newest view once `wanted` holds for one."""
        async with asyncio.timeout(limit_s):
            while not wanted(self.keeper.view):
                self._changed.clear()
                await self._changed.wait()
        return self.keeper.view


@contextlib.asynccontextmanager
async def watched(transport: ScriptedTransport, *, refuse: list[LinkFailure] | None = None):
    found = Watched(transport)
    found.refuse = refuse or []
    running = asyncio.create_task(found.keeper.run())
    try:
        yield found
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(board_keeper, "POLL_S", 0.01)
    monkeypatch.setattr(board_keeper, "_HELD_POLL_S", 0.01)
    monkeypatch.setattr(board_keeper, "_FIRST_BACK_OFF_S", 0.01)


async def test_a_board_is_looked_at_again_and_again():
    transport = ScriptedTransport()
    async with watched(transport) as found:
        view = await found.until(lambda view: view.state is not None)
        assert (view.link, view.lock_state) == ("up", "unlocked")
        transport.files[NODE] = b"500000000"
        await found.until(lambda view: view.state.clock("gpu").current_hz == 500_000_000)


async def test_a_paused_board_is_left_alone_but_for_what_is_asked():
    transport = ScriptedTransport()
    async with watched(transport) as found:
        await found.until(lambda view: view.state is not None)
        found.keeper.paused = True
        looks = []
        for _ in range(3):
            before = found.keeper.view.check
            found.keeper.ask(Ask(device="scripted", action="check"))
            await found.until(lambda view, before=before: view.check is not before and not view.activity)
            looks.append(transport.looks)
        # Two looks of the check and one after it; a poll in between would be one more.
        assert [later - earlier for earlier, later in itertools.pairwise(looks)] == [3, 3]


async def test_a_lost_link_keeps_the_last_values_and_comes_back():
    transport = ScriptedTransport()
    async with watched(transport) as found:
        await found.until(lambda view: view.state is not None)
        transport.down = LinkFailure("lost", "The link to scripted broke.")
        view = await found.until(lambda view: view.link == "lost")
        assert view.problem == "The link to scripted broke."
        assert view.state is not None
        transport.down = None
        view = await found.until(lambda view: view.link == "up")
        assert view.problem == ""


async def test_a_wrong_key_waits_for_the_operator():
    failure = LinkFailure("unknown_host_key", "The key of scripted was never seen.")
    async with watched(ScriptedTransport(), refuse=[failure]) as found:
        await found.until(lambda view: view.link == "failed")
        found.keeper.ask(Ask(device="scripted", action="trust_key"))
        await found.until(lambda view: view.link == "up")
        assert found.opened == [(None, False), (None, True)]


@pytest.mark.parametrize("problem", ["refused", "login"])
async def test_what_is_asked_without_a_link_waits_for_it_at_the_pace_of_the_back_off(problem, monkeypatch):
    monkeypatch.setattr(board_keeper, "_FIRST_BACK_OFF_S", 0.1)
    failure = LinkFailure(problem, "No way there.")
    async with watched(ScriptedTransport(), refuse=[failure] * 3) as found:
        await found.until(lambda view: view.problem == "No way there.")
        began_s = asyncio.get_running_loop().time()
        found.keeper.ask(Ask(device="scripted", action="check"))
        await found.until(lambda view: view.check is not None)
        # 0.1 s, 0.2 s and 0.4 s; at the pace of the queue it would be no time at all.
        assert asyncio.get_running_loop().time() - began_s > 0.5
        assert len(found.opened) == 4


async def test_a_password_that_is_known_is_used_from_the_first_link():
    found = Watched(ScriptedTransport())
    found.keeper = BoardKeeper("scripted", found._open, found._publish, found._invalidate, "known")
    running = asyncio.create_task(found.keeper.run())
    await found.until(lambda view: view.link == "up")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert found.opened == [("known", False)]


async def test_a_password_is_used_for_the_next_link():
    async with watched(ScriptedTransport()) as found:
        await found.until(lambda view: view.state is not None)
        found.keeper.ask(Ask(device="scripted", action="password", secret="s3cret"))
        await found.until(lambda view: len(found.opened) == 2 and view.link == "up")
        assert found.opened[-1] == ("s3cret", False)
        assert not any("s3cret" in str(msgspec.json.encode(view)) for view in found.views)


async def test_lock_and_restore_are_told_step_by_step():
    transport = ScriptedTransport()
    async with watched(transport) as found:
        found.keeper.ask(Ask(device="scripted", action="lock"))
        view = await found.until(lambda view: view.lock is not None and not view.activity)
        assert view.lock.locked
        assert "gpu set" in view.steps
        await found.until(lambda view: view.lock_state == "locked")
        assert transport.held_by is None
        found.keeper.ask(Ask(device="scripted", action="restore"))
        view = await found.until(lambda view: view.restore is not None and not view.activity)
        assert view.restore.restored
        assert int(transport.files[NODE]) == IDLE_HZ


async def test_a_held_board_is_neither_locked_nor_polled():
    transport = ScriptedTransport()
    async with watched(transport) as found:
        await found.until(lambda view: view.state is not None)
        async with transport.lease(OTHER):
            view = await found.until(lambda view: not view.polled)
            assert view.state.lease == OTHER
            found.keeper.ask(Ask(device="scripted", action="lock"))
            view = await found.until(lambda view: any("is held by" in step for step in view.steps))
            assert "run r7 of ann@desk" in view.steps[-1]
            assert transport.files[NODE] == str(IDLE_HZ).encode()


async def test_a_lost_lock_is_told_once_and_its_measurements_marked():
    transport = ScriptedTransport()
    async with watched(transport) as found:
        found.keeper.ask(Ask(device="scripted", action="lock"))
        await found.until(lambda view: view.lock_state == "locked")
        transport.files[NODE] = b"408000000"
        view = await found.until(lambda view: view.lock_state == "lost")
        assert view.steps[-1] == "lock lost; measurements marked invalid: 3"
        transport.files[NODE] = str(LOCKED_HZ).encode()
        await found.until(lambda view: view.lock_state == "locked")
        assert [device for device, _ in found.since] == ["scripted"]
