"""What a family of devices has to know: what to read, how to judge it, how to lock and to restore clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from edgelab.drivers.check import Check
from edgelab.drivers.device_state import DeviceState, SavedClocks
from edgelab.drivers.probe import ProbeReply, ProbeRequest
from edgelab.drivers.transport import Transport

OnStep = Callable[[str], None]
"""Told each step as it is done, in words for people."""


class LockOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How the attempt to lock went; whether it holds is judged afterwards from a new look at the board."""

    done: bool
    needs_reboot: bool = False
    problem: str = ""
    advice: str = ""


class Family(Protocol):
    """A family of devices under one profile. `request`, `read` and `judge` are pure."""

    @property
    def name(self) -> str:
        """Name of the family, as profiles have it."""
        ...

    def request(self, *, full: bool = True, under_load: bool = False) -> ProbeRequest:
        """Return what one look at such a device fetches.

        A look that is not `full` is for polling once a second: files alone, no sudo and no slow command.
        `under_load` keeps the GPU busy meanwhile, where the profile names a command for that.
        """
        ...

    def read(self, reply: ProbeReply) -> DeviceState:
        """Return the state that a probe found. Never raises: what makes no sense is unknown."""
        ...

    def judge(self, state: DeviceState, before: DeviceState | None) -> tuple[Check, ...]:
        """Return the checks of a state; `before` is an earlier look, for counters that may have grown."""
        ...

    def saved(self, state: DeviceState, owner: str) -> SavedClocks:
        """Return what has to be stored on the board before `lock` changes anything."""
        ...

    async def lock(self, board: Transport, state: DeviceState, on_step: OnStep) -> LockOutcome:
        """Set power mode and clocks as the profile wants them. `state` is a look taken just before."""
        ...

    async def restore(self, board: Transport, saved: SavedClocks, on_step: OnStep) -> LockOutcome:
        """Put back what `saved` says. `done` means that everything was written and read back."""
        ...

    def sampled_nodes(self, state: DeviceState) -> tuple[str, ...]:
        """Return the nodes that everyone may read and that show whether the clocks of `state` still hold.

        The worker reads them between the blocks of timing, when nothing else may touch the board.
        """
        ...

    def lock_lost(self, state: DeviceState, files: Mapping[str, bytes]) -> str | None:
        """Return how `files` (of `sampled_nodes`) differ from the locked `state`; None when they do not."""
        ...
