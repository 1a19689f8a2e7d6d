"""`edgelab devices watch`: a look a second at one device, which tells when its clock lock is lost."""

from __future__ import annotations

import asyncio
import functools
import time

import click
import msgspec

from edgelab import quantities as fmt
from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.device_clocks import lock_text, narrate, on_board
from edgelab.drivers.device_state import DeviceState
from edgelab.errors import ExitCode
from edgelab.lab.board import Board
from edgelab.lab.board_view import LockState
from edgelab.lab.clock_guard import ClockGuard
from edgelab.lab.invalid_measurements import invalidate
from edgelab.visible_text import visible

_POLL_S = 1.0
_POLL_LIMIT_S = 5.0


@click.command()
@click.argument("name")
@click.option("--relock", is_flag=True, help="Hold the device and lock again when the lock is lost.")
@click.option("--seconds", type=click.FloatRange(min=0), default=None, help="End after so many seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a look.")
@pass_session
def watch(session: Session, name: str, relock: bool, seconds: float | None, as_json: bool) -> None:
    """Look at NAME once a second: clocks, temperature, throttling, load; tell when the lock is lost.

    Measurements made since the last good look are then marked invalid. Ctrl-c ends it. Exit status: 0, or 3
    when the lock was lost and not taken again.
    """
    with reporting(session, as_json=as_json, schema="edgelab.state/1"):
        lost = on_board(
            session,
            name,
            lambda board: _watch(board, session, relock, seconds, as_json),
            "watch" if relock else "",
            limit_s=None,
        )
        if lost:
            raise click.exceptions.Exit(int(ExitCode.NOT_READY))


async def _watch(board: Board, session: Session, relock: bool, seconds: float | None, as_json: bool) -> bool:
    """Look until time is up; returns whether the lock was lost and not taken again."""
    guard = ClockGuard(board, functools.partial(invalidate, session.home, board.device.name))
    end_s = None if seconds is None else time.monotonic() + seconds
    gone = False
    while True:
        async with asyncio.timeout(_POLL_LIMIT_S):
            state = await board.look()
        lock_state, invalidated = guard.judge(state)
        _show_state(board.device.name, state, lock_state, as_json)
        if lock_state == "lost" and invalidated is not None:
            gone = True
            click.echo(
                f"{board.device.name}: lock lost; measurements marked invalid: {invalidated}", err=True
            )
            if relock and board.profile.clocks.relock:
                report = await board.lock(narrate)
                click.echo(lock_text(report), err=True)
                gone = not report.locked
        if end_s is not None and time.monotonic() >= end_s:
            return gone
        await asyncio.sleep(_POLL_S)


def _show_state(name: str, state: DeviceState, lock_state: LockState, as_json: bool) -> None:
    if as_json:
        fields = {"schema": "edgelab.state/1", "device": name, "lock": lock_state}
        click.echo(msgspec.json.encode({**fields, "state": state}).decode())
        return
    click.echo(
        visible(
            f"{time.strftime('%H:%M:%S', time.localtime(state.read_s))}  {state_text(state)}  {lock_state}"
        )
    )


def state_text(state: DeviceState) -> str:
    """Return one look as one line."""
    clocks = (f"{clock.name} {fmt.frequency(clock.current_hz)}" for clock in state.clocks)
    hottest = state.hottest()
    mode = state.power_mode.name if state.power_mode else ""
    heat = f"{hottest.zone} {fmt.temperature(hottest.celsius)}" if hottest else "temperature unknown"
    counts = " ".join(f"{name}={count}" for name, count in state.throttle_counts)
    return "  ".join(
        part for part in (mode, *clocks, heat, f"load {fmt.plain(state.load_1min)}", counts) if part
    )
