"""`edgelab devices lock | restore`: set clocks and confirm them, put them back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click
import msgspec

from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.device_checks import check_text, chosen
from edgelab.drivers.check import LockReport, RestoreReport
from edgelab.drivers.transport import LeaseHeld
from edgelab.errors import ExitCode, NotReadyError
from edgelab.lab.board import Board, described
from edgelab.lab.device import Device
from edgelab.visible_text import visible

_ACTION_LIMIT_S = 180.0

Report = TypeVar("Report", LockReport, RestoreReport)


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def lock(session: Session, name: str, as_json: bool) -> None:
    """Set the power mode and clocks of NAME as its profile wants them, and confirm by reading back.

    What the device had is stored on it first; `edgelab devices restore NAME` puts it back. A mode that needs
    a reboot is never answered with yes. Exit status: 0 locked and confirmed, 3 not.
    """
    with reporting(session, as_json=as_json, schema="edgelab.lock/1"):
        report = on_board(session, name, lambda board: board.lock(narrate), "lock")
        _show(report, "edgelab.lock/1", as_json, lock_text(report))
        if not report.locked:
            raise click.exceptions.Exit(int(ExitCode.NOT_READY))


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def restore(session: Session, name: str, as_json: bool) -> None:
    """Put back what NAME had before EdgeLab's first change, also after a crash.

    Exit status: 0 all is as it was, 3 something could not be put back.
    """
    with reporting(session, as_json=as_json, schema="edgelab.restore/1"):
        report = on_board(session, name, lambda board: board.restore(narrate), "restore")
        _show(report, "edgelab.restore/1", as_json, _restore_text(report))
        if not report.restored:
            raise click.exceptions.Exit(int(ExitCode.NOT_READY))


Outcome = TypeVar("Outcome")


def on_board(
    session: Session,
    name: str,
    act: Callable[[Board], Awaitable[Outcome]],
    purpose: str,
    *,
    limit_s: float | None = _ACTION_LIMIT_S,
) -> Outcome:
    """Do something with a device, under its lease where `purpose` is given."""
    (device,) = chosen(session, [name], every=False)
    return asyncio.run(_open_and_act(session, device, act, purpose, limit_s))


async def _open_and_act(
    session: Session,
    device: Device,
    act: Callable[[Board], Awaitable[Outcome]],
    purpose: str,
    limit_s: float | None,
) -> Outcome:
    from edgelab.lab.connection import open_board
    from edgelab.lab.secrets import sudo_password

    try:
        async with asyncio.timeout(limit_s):
            async with open_board(device, session.home, password=sudo_password(device)) as board:
                if not purpose:
                    return await act(board)
                async with board.lease(purpose):
                    return await act(board)
    except LeaseHeld as held:
        raise NotReadyError(
            f"{device.name} is held by {described(held.holder)}.", advice="Wait for its end, or stop it."
        ) from held
    except TimeoutError as error:
        raise NotReadyError(
            f"{device.name} was not done within {limit_s:g} s.",
            advice=f"See what it is in: edgelab devices check {device.name}",
        ) from error


def narrate(step: str) -> None:
    """Tell a step on stderr."""
    click.echo(visible(f"  {step}"), err=True)


def _show(report: LockReport | RestoreReport, schema: str, as_json: bool, text: str) -> None:
    if as_json:
        click.echo(msgspec.json.encode({"schema": schema, **msgspec.to_builtins(report)}).decode())
    else:
        click.echo(text)


def lock_text(report: LockReport) -> str:
    """Return a report on locking as lines."""
    verdict = "locked and confirmed" if report.locked else "NOT LOCKED"
    if report.needs_reboot:
        verdict += ": the power mode needs a reboot, which is yours to start"
    lines = [f"{report.device}: {verdict}"]
    lines += [visible(f"  {words}") for words in (report.problem, report.advice) if words]
    return "\n".join([*lines, *(check_text(check) for check in report.checks)])


def _restore_text(report: RestoreReport) -> str:
    verdict = "restored" if report.restored else "NOT RESTORED"
    words = (*report.steps, report.problem, report.advice)
    return "\n".join([f"{report.device}: {verdict}", *(visible(f"  {said}") for said in words if said)])
