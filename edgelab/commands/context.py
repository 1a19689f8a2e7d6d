"""What every command shares: the home, and how an unexpected error is reported."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from edgelab.errors import EdgeLabError, ExitCode
from edgelab.home import Home


class Session(msgspec.Struct, frozen=True):
    """The global options of one invocation."""

    home: Home

    @classmethod
    def open(cls, home: str | None) -> Session:
        """Locate the home; nothing is created."""
        return cls(Home.locate(home))


pass_session = click.make_pass_decorator(Session)


@contextlib.contextmanager
def reporting(session: Session, *, as_json: bool = False, schema: str = "edgelab.error/1") -> Iterator[None]:
    """Turn errors inside the block into one message (or one JSON object) and the right exit status.

    An error nobody foresaw gets its traceback into a log file whose path the message names.
    """
    try:
        yield
    except EdgeLabError as error:
        _show(error.message, error.advice, as_json, schema)
        raise click.exceptions.Exit(int(error.exit_code)) from error
    except (click.ClickException, click.exceptions.Exit, click.Abort, KeyboardInterrupt):
        raise
    except Exception as error:
        path = _log_traceback(session.home.logs)
        where = f"The traceback is in {path}." if path else "The traceback could not be written."
        _show(f"Internal error: {type(error).__name__}: {error}.", where, as_json, schema)
        raise click.exceptions.Exit(int(ExitCode.INTERNAL)) from error


def _show(message: str, advice: str, as_json: bool, schema: str) -> None:
    if as_json:
        report = {"schema": schema, "error": {"message": message, "advice": advice}}
        click.echo(msgspec.json.encode(report).decode())
    click.echo(f"edgelab: {message} {advice}".rstrip(), err=True)


def _log_traceback(folder: Path) -> Path | None:
    path = folder / f"error-{time.strftime('%Y%m%d-%H%M%S')}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc())
    except OSError:
        return None
    return path
