"""The dialog that adds a device to the lab file; it closes only when the device is in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input

from edgelab.errors import EdgeLabError, UsageError
from edgelab.widgets.lines import LinesPanel
from edgelab.widgets.spans import Line, Span, rule, wrap

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from edgelab.app import EdgeLabApp
    from edgelab.lab.lab_file import Entry

_SUDO = ("passwordless", "password", "none")
_FIELDS = (
    ("name", "what the device is called"),
    ("profile", ""),
    ("host", "host name, address or alias of ~/.ssh/config; simulated for a simulated board"),
    ("user", "empty: as ~/.ssh/config says, else your own"),
    ("port", "empty: as ~/.ssh/config says, else 22"),
    ("key", "private key file; empty: ~/.ssh/config, agent, ~/.ssh/id_*"),
    ("jump", "jump hosts, [user@]host[:port], separated by commas"),
    ("sudo", "passwordless, password or none"),
    ("notes", "a line for people"),
)


class AddDeviceDialog(ModalScreen[str | None]):
    """One line a key of the lab file; `profiles` are offered. Escape closes without a device."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False),
        Binding("down", "app.focus_next", "Next", show=False),
        Binding("up", "app.focus_previous", "Previous", show=False),
    ]

    def __init__(self, profiles: Sequence[str]) -> None:
        super().__init__()
        self._profiles = tuple(profiles)

    def compose(self) -> ComposeResult:
        """One box: what it is for, the fields, what was wrong."""
        app = cast("EdgeLabApp", self.app)
        offered = {"profile": self._profiles, "sudo": _SUDO}
        with Vertical(classes="dialog wide"):
            yield _Text("add-about", "Add a device", app.sources.lab_note, "muted")
            for name, hint in _FIELDS:
                with Horizontal(classes="field"):
                    yield _Label(name)
                    suggester = SuggestFromList(offered[name]) if name in offered else None
                    hint = ", ".join(self._profiles) if name == "profile" else hint
                    yield Input(placeholder=hint, suggester=suggester, id=f"add-{name}")
            yield _Text("add-problem", "", "", "bad")

    @property
    def problem(self) -> str:
        """What was wrong with the device entered last."""
        return self.query_one("#add-problem", _Text).text

    def _typed(self, name: str) -> str:
        return self.query_one(f"#add-{name}", Input).value.strip()

    def entry(self) -> Entry:
        """Return the entry as typed. Raises `UsageError` for what no entry can hold."""
        from edgelab.lab.lab_file import Entry

        port = self._typed("port")
        if port and not (port.isascii() and port.isdigit()):
            raise UsageError("port: expected an integer between 1 and 65535.")
        sudo = self._typed("sudo") or _SUDO[0]
        if sudo not in _SUDO:
            raise UsageError(f"sudo: expected {', '.join(_SUDO[:-1])} or {_SUDO[-1]}.")
        texts = {
            name: self._typed(name) for name in ("name", "profile", "host", "user", "key", "jump", "notes")
        }
        for name in ("name", "profile", "host"):
            if not texts[name]:
                raise UsageError(f"{name}: it is missing.")
        return Entry(**texts, port=int(port) if port else None, sudo=sudo)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.run_worker(self._add(), exclusive=True, exit_on_error=False)

    async def _add(self) -> None:
        app = cast("EdgeLabApp", self.app)
        try:
            added = await app.aside(app.sources.add_device, self.entry())
            self.dismiss(added.name)
        except EdgeLabError as error:
            self._say(str(error))
        except TimeoutError:
            self._say("The lab file could not be written in time.")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._say("")

    def _say(self, text: str) -> None:
        self.query_one("#add-problem", _Text).say(text)

    def action_close(self) -> None:
        """Close without a device."""
        self.dismiss(None)


class _Text(LinesPanel):
    def __init__(self, id: str, title: str, text: str, style: str) -> None:
        super().__init__(id=id)
        self._title, self.text, self._style = title, text, style

    def say(self, text: str) -> None:
        """Show another text."""
        if text != self.text:
            self.text = text
            self.refresh(layout=True)
            self.refresh_lines()

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return the title and the text."""
        head = [rule(self._title, cells)] if self._title else []
        said = wrap(self.text, cells) if self.text else []
        tail = ["Enter adds it, tab goes on, → takes what is offered, esc closes."] if self._title else []
        return [*head, *([Span(line, self._style)] for line in (*said, *tail))]


class _Label(LinesPanel):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._label = name

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return the name of the field."""
        return [[Span(self._label, "muted")]]
