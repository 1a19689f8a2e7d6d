"""`edgelab devices trust`: accept the host key of a device that was never seen, after looking at it."""

from __future__ import annotations

import asyncio

import click

from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.device_checks import chosen
from edgelab.drivers.transport import LinkFailure
from edgelab.home import Home
from edgelab.lab.device import Device
from edgelab.visible_text import visible


@click.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask: the fingerprint was compared already.")
@pass_session
def trust(session: Session, name: str, yes: bool) -> None:
    """Accept the host key of NAME, which was never seen before, and write it into its known-hosts file.

    Compare the fingerprint with the one that the board itself shows. A key that has changed is never accepted
    here: remove the old one first, if you know why it changed.
    """
    with reporting(session):
        (device,) = chosen(session, [name], every=False)
        failure = asyncio.run(_try(device, session.home, trust_new_key=False))
        if failure is None:
            click.echo(f"The host key of {name} is known already.")
            return
        if failure.problem != "unknown_host_key":
            raise failure
        click.echo(visible(failure.message), err=True)
        if not yes:
            click.confirm("Trust it from now on?", abort=True, err=True)
        again = asyncio.run(_try(device, session.home, trust_new_key=True))
        if again is not None:
            raise again
        click.echo(f"The host key of {name} is trusted.")


async def _try(device: Device, home: Home, *, trust_new_key: bool) -> LinkFailure | None:
    """Connect once; return why that failed."""
    from edgelab.lab.connection import open_board

    try:
        async with open_board(device, home, trust_new_key=trust_new_key):
            return None
    except LinkFailure as failure:
        return failure
