"""`edgelab devices check`: is a device fit for work, with a reason for every no; several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from edgelab.commands.context import Session, pass_session, reporting
from edgelab.drivers.check import Check, CheckReport
from edgelab.drivers.transport import LinkFailure
from edgelab.errors import ExitCode
from edgelab.home import Home
from edgelab.lab.device import Device
from edgelab.lab.inventory import find, lab_devices
from edgelab.visible_text import visible

_MARKS = {True: "ok", False: "NO", None: "?"}
_CHECK_LIMIT_S = 60.0


@click.command()
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "every", is_flag=True, help="All devices of the lab.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def check(session: Session, names: tuple[str, ...], every: bool, as_json: bool) -> None:
    """Check devices before work: reachable, right mode, clocks locked, cool, idle, free.

    Exit status: 0 when every one is ready, 3 when one is not (the reasons are printed).
    """
    with reporting(session, as_json=as_json, schema="edgelab.check/1"):
        devices = chosen(session, names, every=every)
        reports = asyncio.run(_check_all(devices, session.home))
        if as_json:
            click.echo(msgspec.json.encode(_as_object(reports)).decode())
        else:
            click.echo("\n\n".join(report_text(report) for report in reports))
        if not all(report.ready for report in reports):
            raise click.exceptions.Exit(int(ExitCode.NOT_READY))


def chosen(session: Session, names: Sequence[str], *, every: bool) -> tuple[Device, ...]:
    """Return the named devices. Raises `UsageError` for unknown names, `click.UsageError` for none."""
    devices = lab_devices(session.lab)
    if every:
        return devices
    if not names:
        raise click.UsageError("Name a device, or say --all.")
    return tuple(find(name, devices) for name in dict.fromkeys(names))


async def _check_all(devices: Sequence[Device], home: Home) -> list[CheckReport]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_check(device, home)) for device in devices]
    return [task.result() for task in tasks]


async def _check(device: Device, home: Home) -> CheckReport:
    from edgelab.lab.board import unreachable
    from edgelab.lab.connection import open_board
    from edgelab.lab.secrets import sudo_password

    try:
        async with asyncio.timeout(_CHECK_LIMIT_S):
            async with open_board(device, home, password=sudo_password(device)) as board:
                report, _ = await board.check()
                return report
    except LinkFailure as failure:
        return unreachable(device, failure)
    except TimeoutError:
        return unreachable(
            device, LinkFailure("timeout", f"{device.name} was not checked within {_CHECK_LIMIT_S:g} s.")
        )


def _as_object(reports: Sequence[CheckReport]) -> dict[str, Any]:
    if len(reports) == 1:
        return {"schema": "edgelab.check/1", **_fields(reports[0])}
    return {
        "schema": "edgelab.checks/1",
        "ready": all(report.ready for report in reports),
        "devices": [_fields(report) for report in reports],
    }


def _fields(report: CheckReport) -> dict[str, Any]:
    fields = msgspec.to_builtins(report)
    return {"device": fields.pop("device"), "ready": report.ready, **fields}


def report_text(report: CheckReport) -> str:
    """Return a report as lines: the verdict, then one line a check."""
    simulated = " (simulated)" if report.simulated else ""
    verdict = "ready" if report.ready else "NOT READY"
    return "\n".join([f"{report.device}{simulated}: {verdict}", *map(check_text, report.checks)])


def check_text(found: Check) -> str:
    """Return one check as a line, with its reason and where the value came from where it is no yes."""
    wanted = f"  (wanted {found.wanted})" if found.wanted and not found.ok else ""
    line = f"  {_MARKS[found.ok]:<3}{found.name:<14}{found.value}{wanted}"
    if found.ok or not found.reason:
        return visible(line)
    source = f"  [{found.evidence.source}]" if found.evidence else ""
    return visible(line) + "\n" + visible(f"     {found.reason}{source}")
