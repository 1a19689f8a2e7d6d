"""One device of the lab, as everything above the drivers knows it."""

from __future__ import annotations

from typing import Literal

import msgspec

Sudo = Literal["none", "passwordless", "password"]


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One device. `host` is empty for this machine; rows of simulated devices never mix with real ones.

    `user`, `port`, `key`, `known_hosts` and `jump` are empty (None) where ~/.ssh/config decides. `sudo`
    says how root is reached there. `root` is a folder on the board under which its nodes and tools lie:
    only boards of fake nodes have one.
    """

    name: str
    profile: str
    backend: str
    title: str = ""
    host: str = ""
    port: int | None = None
    user: str = ""
    key: str = ""
    known_hosts: str = ""
    jump: str = ""
    sudo: Sudo = "passwordless"
    root: str = ""
    notes: str = ""
    simulated: bool = False
