"""`edgelab devices bootstrap`: puts the worker's runtime on a device."""

from __future__ import annotations

import click
import msgspec

from edgelab import quantities as fmt
from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.device_clocks import on_board
from edgelab.drivers.bootstrap.install import Installed, Progress
from edgelab.drivers.bootstrap.install import bootstrap as install
from edgelab.lab.board import Board

_LIMIT_S = 3600.0


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def bootstrap(session: Session, name: str, as_json: bool) -> None:
    """Put numpy and TVM's runtime on NAME, which needs neither network nor compiler for it.

    Interrupted, it goes on where it was when it is run again. Exit status: 0 the runtime works, 3 it does not.
    """
    with reporting(session, as_json=as_json, schema="edgelab.bootstrap/1"):
        told = _Told()

        async def act(board: Board) -> Installed:
            return await install(board.transport, session.home.cache, told)

        found = on_board(session, name, act, "bootstrap", limit_s=_LIMIT_S)
        if as_json:
            report = {"schema": "edgelab.bootstrap/1", **msgspec.to_builtins(found)}
            click.echo(msgspec.json.encode(report).decode())
            return
        how = "was there already" if found.already else f"sent {fmt.size(found.sent_bytes)}"
        click.echo(f"{found.device}: the worker runtime works ({how}; {found.python}).")


class _Told:
    """Tells progress on stderr: a line a step, and of bytes a line every tenth."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: Progress) -> None:
        said = progress.step
        if progress.total:
            said += f" {10 * progress.done // progress.total * 10} % of {fmt.size(progress.total)}"
        if said != self._last:
            click.echo(f"  {said}", err=True)
        self._last = said
