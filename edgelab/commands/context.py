"""What every command shares: the home, and how an unexpected error is reported."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from edgelab.errors import EdgeLabError, ExitCode, UsageError
from edgelab.home import Home
from edgelab.lab.inventory import lab_path
from edgelab.visible_text import visible


class Session(msgspec.Struct, frozen=True):
    """The global options of one invocation: the data folder, and the lab file (None: the built-in lab)."""

    home: Home
    lab: Path | None = None

    @classmethod
    def open(cls, home: str | None, lab: str | None = None) -> Session:
        """Locate home and lab; nothing is created. Raises `UsageError` for a home that is no folder."""
        found = Home.locate(home)
        if found.root.exists() and not found.root.is_dir():
            raise UsageError(
                f"The data folder {found.root} is not a folder.", advice="Name another with --home."
            )
        return cls(found, lab_path(lab))


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
    except BrokenPipeError as error:
        # Who reads our output (head, less) has seen enough. Python would complain once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(int(ExitCode.DONE)) from error
    except Exception as error:
        path = _log_traceback(session.home.logs)
        where = f"The traceback is in {path}." if path else "The traceback could not be written."
        _show(f"Internal error: {type(error).__name__}: {error}.", where, as_json, schema)
        raise click.exceptions.Exit(int(ExitCode.INTERNAL)) from error


def error_object(schema: str, message: str, advice: str, **more: str) -> str:
    """Return the JSON object that stands for an error where a command prints objects."""
    return msgspec.json.encode(
        {"schema": schema, **more, "error": {"message": message, "advice": advice}}
    ).decode()


def show_error(message: str, advice: str) -> None:
    """Print an error on stderr as one message."""
    text = f"{message[:1].upper()}{message[1:]} {advice}".rstrip()
    click.echo(visible(f"edgelab: {text}"), err=True)


def _show(message: str, advice: str, as_json: bool, schema: str) -> None:
    if as_json:
        click.echo(error_object(schema, message, advice))
    show_error(message, advice)


def _log_traceback(folder: Path) -> Path | None:
    path = folder / f"error-{time.strftime('%Y%m%d-%H%M%S')}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc())
    except OSError:
        return None
    return path
