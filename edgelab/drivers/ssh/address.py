"""Where a device is and how one gets in."""

from __future__ import annotations

from typing import Literal

import msgspec

DEFAULT_CONFIG = "~/.ssh/config"

SudoMode = Literal["none", "passwordless", "password"]


class SshAddress(msgspec.Struct, frozen=True, kw_only=True):
    """One device's way in. What is empty is left to ~/.ssh/config and asyncssh's defaults.

    `jump` is `[user@]host[:port]`, several separated by commas. `root` is a folder on the board under which
    absolute paths lie (boards of fake nodes only). `config` names another file than ~/.ssh/config, None reads
    none at all.
    """

    device: str
    host: str
    port: int | None = None
    user: str = ""
    key: str = ""
    known_hosts: str = ""
    jump: str = ""
    sudo: SudoMode = "passwordless"
    root: str = ""
    lease: str = "/tmp/edgelab.lease"
    config: str | None = DEFAULT_CONFIG
