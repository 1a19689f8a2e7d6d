"""`edgelab devices`: the devices of the lab. What each command does is in a file of its own."""

from __future__ import annotations

import click
import msgspec

from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.device_add import add
from edgelab.commands.device_bootstrap import bootstrap
from edgelab.commands.device_checks import check
from edgelab.commands.device_clocks import lock, restore
from edgelab.commands.device_trust import trust
from edgelab.commands.device_watch import watch
from edgelab.lab import inventory


@click.group()
def devices() -> None:
    """The devices of the lab."""


@devices.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def list_devices(session: Session, as_json: bool) -> None:
    """List devices, one a line: name, backend, profile."""
    with reporting(session, as_json=as_json, schema="edgelab.devices/1"):
        found = inventory.lab_devices(session.lab)
        if as_json:
            report = {"schema": "edgelab.devices/1", "devices": found}
            click.echo(msgspec.json.encode(report).decode())
            return
        for device in found:
            mark = "simulated" if device.simulated else device.host
            click.echo(
                f"{device.name:<14} {device.backend:<7} {device.profile:<22} {device.title}  {mark}".rstrip()
            )


for command in (add, bootstrap, check, lock, restore, trust, watch):
    devices.add_command(command)
