"""The keys that act on boards: check, lock, restore, marks, trust, passwords, and which device runs go to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType

from edgelab.screens.base import EdgeScreen
from edgelab.screens.board_words import need_of
from edgelab.widgets.bars import Hint

if TYPE_CHECKING:
    from edgelab.drivers.profile import ClockPolicy
    from edgelab.lab.board_view import BoardView
    from edgelab.lab.device import Device
    from edgelab.screens.board_feed import BoardAction, BoardFeed

_NO_BOARD = "This lab has no board; n adds one."


class BoardKeysScreen(EdgeScreen):
    """A screen over the devices of a lab. Subclasses say which device is meant and show what changed."""

    HINTS: ClassVar[Sequence[Hint]] = (
        Hint("c", "check", "screen.check"),
        Hint("L", "lock", "screen.lock"),
        Hint("R", "restore", "screen.restore"),
        Hint("x", "mark", "screen.mark"),
        Hint("2", "choose a task", "app.go('tasks')"),
        Hint("space", "pause", "app.pause"),
        Hint("enter", "details", "screen.read"),
        Hint("d", "run here", "screen.target"),
        Hint("a", "mark all", "screen.mark_all"),
        Hint("/", "filter", "screen.filter"),
        Hint("n", "add a device", "screen.add"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "check", "Check", show=False),
        Binding("L", "lock", "Lock clocks", show=False),
        Binding("R", "restore", "Restore clocks", show=False),
        Binding("x", "mark", "Mark", show=False),
        Binding("a", "mark_all", "Mark all", show=False),
        Binding("v", "verdicts", "Verdicts", show=False),
        Binding("d", "target", "Run here", show=False),
        Binding("u", "trust", "Trust its key", show=False),
        Binding("p", "password", "Give the sudo password", show=False),
        Binding("r", "reconnect", "Connect anew", show=False),
        Binding("P", "hold", "Stop looking", show=False),
        Binding("n", "add", "Add a device", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.devices: Sequence[Device] = ()
        self.marked: frozenset[str] = frozenset()
        self.asked: dict[str, float] = {}
        """The devices of the last check of several, each with the time of the check it had before."""
        self._given: set[str] = set()
        self._held = False

    # What subclasses know

    @property
    def device(self) -> Device | None:
        """The device under the cursor."""
        raise NotImplementedError

    def show(self) -> None:
        """Show what changed."""
        raise NotImplementedError

    def check_asked(self) -> None:
        """Called when a check of several devices was asked for."""

    def reload(self) -> None:
        """Read the lab anew."""
        raise NotImplementedError

    # Whom a key is meant for

    @property
    def boards(self) -> BoardFeed:
        """Whoever keeps the boards in view."""
        return self.lab_app.sources.boards

    def view(self, name: str) -> BoardView | None:
        """Return the newest view of a device."""
        return self.boards.views().get(name)

    def targets(self) -> tuple[Device, ...]:
        """Return the devices that a key acts on: the marked ones, else the one under the cursor."""
        marked = tuple(device for device in self.devices if device.name in self.marked)
        return marked or ((self.device,) if self.device is not None else ())

    def _with_targets(self, act: Callable[[Sequence[str]], None]) -> None:
        """Ask for the passwords that are lacking, then act on the devices that keys are meant for."""
        if len(self.devices) < 2:
            self.notify(_NO_BOARD, timeout=4)
            return
        self._with_passwords(list(self.targets()), [], act)

    def _with_passwords(
        self, waiting: list[Device], ready: list[str], act: Callable[[Sequence[str]], None]
    ) -> None:
        while waiting:
            device = waiting.pop(0)
            needs = need_of(device, self.view(device.name)) == "password"
            if needs and device.name not in self._given:

                def given(secret: str | None, name: str = device.name) -> None:
                    if secret:
                        self._give(name, secret)
                        ready.append(name)
                    self._with_passwords(waiting, ready, act)

                self._ask_password(device.name, given)
                return
            ready.append(device.name)
        if ready:
            act(ready)

    # Actions

    def action_check(self) -> None:
        """Check the chosen devices, all at once."""
        self._with_targets(self._check)

    def _check(self, names: Sequence[str]) -> None:
        checks = {name: self.view(name) for name in names}
        self.asked = {}
        if len(names) > 1:
            self.asked = {
                name: view.check.checked_s if view is not None and view.check is not None else 0.0
                for name, view in checks.items()
            }
            self.check_asked()
        self._ask(names, "check")

    def _ask(self, names: Iterable[str], action: BoardAction) -> None:
        for name in names:
            self.boards.request(name, action)
            if action in ("lock", "restore"):
                # A verdict from before the change would stand there as if it still held.
                self.boards.request(name, "check")
        self.show()

    def action_restore(self) -> None:
        """Put back what the chosen devices had."""
        self._with_targets(lambda names: self._ask(names, "restore"))

    def action_reconnect(self) -> None:
        """Connect anew."""
        self._with_targets(lambda names: self._ask(names, "reconnect"))

    def action_lock(self) -> None:
        """Lock the clocks of the chosen devices, after a question that says what would change."""
        self._with_targets(lambda names: self.start(lambda: self._propose_lock(names), "lock"))

    async def _propose_lock(self, names: Sequence[str]) -> None:
        from edgelab.screens.dialogs import ConfirmDialog
        from edgelab.screens.lock_words import lock_question, lockable

        app = self.lab_app
        chosen = [device for device in self.devices if device.name in names]

        def read() -> Mapping[str, ClockPolicy]:
            return {device.name: app.sources.clock_policy(device) for device in chosen}

        policies = await app.aside(read)
        able = lockable(names, policies)
        if not able:
            self.notify(f"The clocks of {', '.join(names)} are not EdgeLab's to lock.", timeout=4)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._ask(able, "lock")

        question = lock_question(names, policies, self.boards.views())
        self.app.push_screen(ConfirmDialog(question, "lock", "leave as it is"), answered)

    def action_mark(self) -> None:
        """Mark the device under the cursor, or take the mark away."""
        device = self.device
        if device is not None:
            self.marked ^= {device.name}
            self.show()

    def action_mark_all(self) -> None:
        """Mark all devices; once more, none."""
        every = frozenset(device.name for device in self.devices)
        self.marked = frozenset() if self.marked == every else every
        self.show()

    def action_target(self) -> None:
        """Let runs go to the device under the cursor."""
        device = self.device
        if device is not None:
            self.lab_app.device = device
            self.show()
            self.notify(f"Runs go to {device.name} now.", timeout=3)

    def action_trust(self) -> None:
        """Accept the host key of the device under the cursor, after showing what it is."""
        from edgelab.screens.dialogs import ConfirmDialog

        device = self.device
        view = self.view(device.name) if device is not None else None
        if device is None or view is None or need_of(device, view) != "trust":
            self.notify("There is no unknown host key to trust here.", timeout=3)
            return
        name = device.name

        def answered(yes: bool | None) -> None:
            if yes:
                self.boards.request(name, "trust_key")

        question = f"{view.problem}\n\nCompare it with what the board itself shows. Trust it from now on?"
        self.app.push_screen(ConfirmDialog(question, "trust it", "do not"), answered)

    def action_password(self) -> None:
        """Give the sudo password of the device under the cursor."""
        device = self.device
        if device is None or device.sudo != "password":
            self.notify("This device needs no sudo password (lab.toml: sudo).", timeout=3)
            return
        name = device.name

        def given(secret: str | None) -> None:
            if secret:
                self._give(name, secret)

        self._ask_password(name, given)

    def _ask_password(self, name: str, given: Callable[[str | None], None]) -> None:
        from edgelab.screens.password_dialog import PasswordDialog

        self.app.push_screen(PasswordDialog(name), given)

    def _give(self, name: str, secret: str) -> None:
        self._given.add(name)
        self.boards.password(name, secret)

    def action_hold(self) -> None:
        """Stop looking at the boards, or go on."""
        self._held = not self._held
        self.boards.pause(self._held)
        said = "The boards are left alone: nothing is read until P is pressed again." if self._held else ""
        self.say(said, "info", about="hold")

    def action_add(self) -> None:
        """Add a device to the lab file."""
        self.start(self._add, "add")

    async def _add(self) -> None:
        from edgelab.screens.add_device_dialog import AddDeviceDialog

        app = self.lab_app
        profiles = await app.aside(app.sources.profiles)

        def added(name: str | None) -> None:
            if name is not None:
                self.notify(f"{name} is in the lab.", timeout=3)
                self.reload()

        self.app.push_screen(AddDeviceDialog(profiles), added)

    def commands(self) -> Iterable[SystemCommand]:
        """Return the commands of this screen."""
        yield SystemCommand("Check devices", "Key c; the marked ones, all at once", self.action_check)
        yield SystemCommand("Lock clocks", "Key L; says what changes, and asks", self.action_lock)
        restored = "Key R; what was before EdgeLab's first change"
        yield SystemCommand("Restore clocks", restored, self.action_restore)
        yield SystemCommand("Mark all devices", "Key a", self.action_mark_all)
        yield SystemCommand("Run here", "Key d; runs go to this device", self.action_target)
        yield SystemCommand("Trust the host key", "Key u; shows it, and asks", self.action_trust)
        yield SystemCommand("Give the sudo password", "Key p", self.action_password)
        yield SystemCommand("Connect anew", "Key r", self.action_reconnect)
        yield SystemCommand("Leave the boards alone", "Key P; once more goes on", self.action_hold)
        yield SystemCommand("Add a device", "Key n; to the lab file", self.action_add)
