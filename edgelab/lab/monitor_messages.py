"""What the app and the monitor process say to each other: one JSON object a line, both ways."""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.lab.board_view import BoardView

MonitorAction = Literal["check", "lock", "restore", "reconnect", "trust_key", "password"]


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """Do something with one device. `secret` is its sudo password, sent over the pipe alone."""

    device: str
    action: MonitorAction
    secret: str = ""


class Pause(msgspec.Struct, frozen=True, kw_only=True, tag="pause"):
    """Stop or go on polling."""

    paused: bool


Request = Ask | Pause


class Seen(msgspec.Struct, frozen=True, kw_only=True, tag="seen"):
    """A new view of one device."""

    view: BoardView


class Trouble(msgspec.Struct, frozen=True, kw_only=True, tag="trouble"):
    """The monitor cannot work: the lab file is wrong, or something of that kind."""

    message: str
    advice: str = ""


Reply = Seen | Trouble
