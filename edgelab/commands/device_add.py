"""`edgelab devices add`: a new device in the lab file, asked for or given by options."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from edgelab.commands.context import Session, pass_session, reporting
from edgelab.drivers.profile import load_profile
from edgelab.errors import UsageError
from edgelab.lab.add_device import add_device
from edgelab.lab.inventory import own_lab_path
from edgelab.lab.lab_file import Entry, profile_names

_SUDO = ("none", "passwordless", "password")


@click.command()
@click.option("--name", help="What the device is called.")
@click.option("--profile", help="A profile of device_profiles/.")
@click.option("--host", help="Host name, address, or an alias of ~/.ssh/config.")
@click.option("--port", type=click.IntRange(1, 65535), help="SSH port (default: 22 or ~/.ssh/config).")
@click.option("--user", default="", help="Login user (default: ~/.ssh/config, else yours).")
@click.option("--key", default="", help="Private key file (default: ~/.ssh/config, agent, ~/.ssh/id_*).")
@click.option("--known-hosts", default="", help="Known hosts file (default: ~/.ssh/known_hosts).")
@click.option("--jump", default="", help="Jump hosts, [user@]host[:port], separated by commas.")
@click.option("--sudo", type=click.Choice(_SUDO), help="How root is reached there.")
@click.option("--notes", default="", help="A line for people.")
@click.option("--yes", is_flag=True, help="Ask nothing: take defaults for what is not given.")
@pass_session
def add(
    session: Session,
    name: str | None,
    profile: str | None,
    host: str | None,
    sudo: str | None,
    yes: bool,
    **given: str | int | None,
) -> None:
    """Add a device to the lab file, which is made when there is none; comments in it stay.

    Asks for what the options leave open. Try it afterwards with `edgelab devices check NAME`.
    """
    with reporting(session):
        ask = not yes and sys.stdin.isatty()
        entry = Entry(
            name=name or _asked("name", "Name", ask),
            profile=profile or _asked_profile(ask),
            host=host or _asked("host", "Host, address or ssh alias", ask),
            sudo=sudo or _asked_sudo(ask),  # type: ignore[arg-type]
            **given,  # type: ignore[arg-type]
        )
        path: Path = session.lab or own_lab_path()
        added = add_device(path, entry)
        click.echo(f"{added.name} ({added.title}) is in {path}.")
        click.echo(f"Try it: edgelab devices check {added.name}", err=True)


def _asked(option: str, prompt: str, ask: bool) -> str:
    if not ask:
        raise UsageError(f"The new device needs --{option}.", advice="Or run it in a terminal, which asks.")
    return click.prompt(prompt, err=True).strip()


def _asked_profile(ask: bool) -> str:
    names = profile_names()
    if not ask:
        raise UsageError("The new device needs --profile.", advice=f"There are: {', '.join(names)}.")
    for number, name in enumerate(names, 1):
        click.echo(f"  {number}  {name:<24} {load_profile(name).title}", err=True)
    choice = click.prompt("Profile (name or number)", err=True).strip()
    return names[int(choice) - 1] if choice.isdigit() and 0 < int(choice) <= len(names) else choice


def _asked_sudo(ask: bool) -> str:
    if not ask:
        return "passwordless"
    return click.prompt("Root by sudo", type=click.Choice(_SUDO), default="passwordless", err=True)
