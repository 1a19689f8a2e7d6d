"""A probe: everything that one look at a device fetches, in one round trip, and what came back."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a probe. `name` is its key in the reply; `root` runs it through sudo.

    Its standard output and error are one stream, as a terminal would show them, cut at 64 KiB.
    One in the `background` starts half a second before anything else is read or run, also before what is
    read as root, and is ended once all else is done: a program that keeps the GPU busy meanwhile.
    """

    name: str
    argv: tuple[str, ...]
    root: bool = False
    background: bool = False
    time_limit_s: float = 5.0


class ProbeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Files by shell pattern (absolute, or relative to the login folder), and commands.

    What matches no file is simply absent from the reply. `root_files` are read through sudo where sudo is
    to be had; without it they are absent and `ProbeReply.sudo_problem` says why.
    """

    files: tuple[str, ...] = ()
    root_files: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()


class CommandOutput(msgspec.Struct, frozen=True):
    """What a command of a probe printed. `exit_code` is None when it was killed at its time limit."""

    exit_code: int | None
    output: bytes


class ProbeReply(msgspec.Struct, frozen=True, kw_only=True):
    """What one probe brought. Times are seconds since the epoch by the clock of this machine.

    `files` maps each path that could be read to its bytes, `refused` each that could not to the reason the
    board gave (`Permission denied`, `Resource temporarily unavailable`). `board_time_s` is the board's own
    clock. `sudo_problem` is empty when the parts for root ran, or when there were none.
    """

    files: Mapping[str, bytes]
    refused: Mapping[str, str]
    outputs: Mapping[str, CommandOutput]
    sudo_problem: str = ""
    board_time_s: float | None = None
    started_s: float
    ended_s: float
