"""What the app asks of whoever keeps the boards in view; the live one is a client of the monitor process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from edgelab.lab.board_view import BoardView

BoardAction = Literal["check", "lock", "restore", "reconnect", "trust_key"]


class BoardFeed(Protocol):
    """The newest view of each device, and requests. Nothing but `start` and `close` ever waits."""

    @property
    def trouble(self) -> str:
        """Why there are no views, in words; empty while all is well."""
        ...

    def views(self) -> Mapping[str, BoardView]:
        """Return the newest view of each device that was seen."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every new view, on the app's event loop."""
        ...

    def request(self, device: str, action: BoardAction) -> None:
        """Ask for something to be done with a device."""
        ...

    def password(self, device: str, secret: str) -> None:
        """Give the sudo password of a device."""
        ...

    def pause(self, paused: bool) -> None:
        """Stop or go on looking at the boards; what is asked for is done all the same."""
        ...

    async def start(self) -> None:
        """Begin; harmless when repeated."""
        ...

    async def close(self) -> None:
        """End; harmless when repeated. It can be started again."""
        ...
