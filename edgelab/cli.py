"""The command line: groups and global options. A command's module is imported when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Any, NoReturn

import click

from edgelab import __version__
from edgelab.commands.context import Session, error_object, show_error
from edgelab.errors import EdgeLabError, ExitCode, UsageError

_COMMANDS = {
    "demo": "edgelab.commands.demo:demo",
    "devices": "edgelab.commands.devices:devices",
    "doctor": "edgelab.commands.doctor:doctor",
    "engines": "edgelab.commands.engines:engines",
    "report": "edgelab.commands.report:report",
    "run": "edgelab.commands.run:run",
    "runs": "edgelab.commands.runs:runs",
    "tasks": "edgelab.commands.tasks:tasks",
    "tune": "edgelab.commands.tune:tune",
}


class _LazyGroup(click.Group):
    """A group whose commands are imported by name, so that `--help` and the app start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        return getattr(importlib.import_module(module), name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], _COMMANDS, n=3, cutoff=0.4) or sorted(_COMMANDS)
            ctx.fail(f"No such command {args[0]!r}. Nearest: {', '.join(near)}.")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--home", metavar="DIR", help="Data folder (default: EDGELAB_HOME, else the platform's).")
@click.option("--lab", metavar="FILE", help="Lab file (default: EDGELAB_LAB, else the user's lab.toml).")
@click.version_option(__version__, prog_name="edgelab")
@click.pass_context
def cli(ctx: click.Context, home: str | None, lab: str | None) -> None:
    """EdgeLab, the control room of a physical edge lab. Without a command: the app."""
    ctx.obj = Session.open(home, lab)
    if ctx.invoked_subcommand is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError(
                "The app needs a terminal.", advice="Without one: edgelab demo --headless, edgelab run."
            )
        from edgelab.app import run_app

        run_app(ctx.obj.home, ctx.obj.lab)


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its status; errors are one message, tracebacks go to the log."""
    try:
        status = cli.main(args, prog_name="edgelab", standalone_mode=False)
    except click.exceptions.Exit as request:
        status = request.exit_code
    except click.ClickException as error:
        if "--json" in (sys.argv if args is None else args):
            click.echo(error_object("edgelab.error/1", error.format_message(), "See --help."))
        error.show()
        status = ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        status = ExitCode.INTERRUPTED
    except EdgeLabError as error:
        show_error(error.message, error.advice)
        status = error.exit_code
    sys.exit(int(status or 0))
