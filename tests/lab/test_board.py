"""Check, lock and restore of one board: verdicts, what is stored before a change, and reboots in between."""

from __future__ import annotations

import msgspec

from edgelab.drivers.check import Check, CheckReport
from edgelab.drivers.device_state import SavedClocks
from edgelab.drivers.transport import LinkFailure
from tests.support.scripted_board import (
    IDLE_HZ,
    LOCKED_HZ,
    NODE,
    PROFILE,
    SAVED,
    ScriptedTransport,
    scripted_board,
)


def saved_of(transport: ScriptedTransport) -> SavedClocks:
    return msgspec.json.decode(transport.files[SAVED], type=SavedClocks)


def quiet(step: str) -> None:
    pass


async def test_a_check_has_one_reason_for_every_no():
    report, state = await scripted_board().check()
    assert not report.ready
    assert report.reasons == (f"gpu at {IDLE_HZ} Hz.",)
    assert report.checks[0].name == "reachable"
    assert state.boot_id == "boot-1"


async def test_a_link_that_fails_is_an_answer():
    transport = ScriptedTransport()
    transport.down = LinkFailure("refused", "Nobody listens at scripted.lab port 22.", advice="Is it on?")
    report, state = await scripted_board(transport).check()
    assert state is None
    assert not report.ready
    assert report.reasons == ("Nobody listens at scripted.lab port 22. Is it on?",)


async def test_a_check_takes_two_looks():
    transport = ScriptedTransport()
    await scripted_board(transport).check()
    assert transport.looks == 2


async def test_lock_and_restore():
    transport = ScriptedTransport()
    board = scripted_board(transport)
    locked = await board.lock(quiet)
    assert locked.locked
    assert [check.name for check in locked.checks] == ["gpu_clock"]
    assert (await board.check())[0].ready
    restored = await board.restore(quiet)
    assert restored.restored
    assert int(transport.files[NODE]) == IDLE_HZ
    assert SAVED not in transport.files


async def test_locking_twice_keeps_what_was_before_the_first():
    transport = ScriptedTransport()
    board = scripted_board(transport)
    await board.lock(quiet)
    await board.lock(quiet)
    assert saved_of(transport).nodes == ((NODE, str(IDLE_HZ)),)


async def test_after_a_reboot_the_clocks_are_stored_anew_and_the_mode_is_kept():
    transport = ScriptedTransport()
    board = scripted_board(transport)
    await board.lock(quiet)
    first = saved_of(transport)
    older = msgspec.structs.replace(first, power_mode=msgspec.structs.replace(first.power_mode, name="30W"))
    transport.files[SAVED] = msgspec.json.encode(older)
    transport.boot_id, transport.files[NODE] = "boot-2", b"400000000"
    await board.lock(quiet)
    again = saved_of(transport)
    assert again.nodes == ((NODE, "400000000"),)
    assert again.boot_id == "boot-2"
    assert again.power_mode.name == "30W"


async def test_restoring_without_a_lock_changes_nothing():
    transport = ScriptedTransport()
    report = await scripted_board(transport).restore(quiet)
    assert report.restored
    assert "nothing to put back" in report.steps[0]
    assert transport.log == []


async def test_a_device_whose_clocks_are_not_edgelabs_is_refused():
    policy = msgspec.structs.replace(PROFILE.clocks, lock=False)
    transport = ScriptedTransport()
    report = await scripted_board(transport, msgspec.structs.replace(PROFILE, clocks=policy)).lock(quiet)
    assert not report.locked
    assert "not EdgeLab's to lock" in report.problem
    assert transport.log == []
    assert int(transport.files[NODE]) != LOCKED_HZ


def test_unknown_counts_only_where_an_answer_is_required():
    unknown = Check(name="real_clock", ok=None, reason="The GPU is idle.")
    assert CheckReport(device="x", checks=(unknown,)).ready
    required = msgspec.structs.replace(unknown, required=True)
    report = CheckReport(device="x", checks=(required,))
    assert not report.ready
    assert report.reasons == ("The GPU is idle.",)
