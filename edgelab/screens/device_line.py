"""The line of the Tasks screen that says which device runs go to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgelab.widgets.lines import LinesPanel
from edgelab.widgets.spans import Line, Span, fit

if TYPE_CHECKING:
    from edgelab.lab.device import Device


def device_line(device: Device | None, cells: int) -> Line:
    """Return the line; the way to choose another device stays where not all fits."""
    if device is None:
        return []
    kind = "simulated: kernels run on this machine's processor" if device.simulated else device.title
    key: Line = [Span("d", "accent", "screen.device"), Span(" chooses another", "muted", "screen.device")]
    said: Line = [
        Span("Runs go to ", "muted", "screen.device"),
        Span(device.name, "accent bold", "screen.device"),
        Span(f"  {kind or device.profile}", "warn" if device.simulated else "muted", "screen.device"),
    ]
    room = cells - sum(len(span.text) for span in key) - 3
    return [*fit(said, room), Span("   "), *key] if room > 0 else fit(said, cells)


class DeviceLine(LinesPanel):
    """One line; a click chooses as the key does."""

    def __init__(self) -> None:
        super().__init__(id="device-line")
        self._device: Device | None = None

    def show(self, device: Device) -> None:
        """Show another device."""
        self._device = device
        self.refresh_lines()

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return the line."""
        return [device_line(self._device, cells)]
