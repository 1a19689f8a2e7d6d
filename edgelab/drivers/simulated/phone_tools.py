"""Stand-ins for Android's and Termux' tools."""

from __future__ import annotations

DUMPSYS = r"""
case "$1" in
thermalservice|battery) exec /bin/cat "$BOARD/etc/edgelab/$1";;
*) echo "Can't find service: $1" >&2; exit 1;;
esac
"""

GETPROP = r"""
exec sed -n "s/^$1=//p" "$BOARD/etc/edgelab/properties"
"""

TERMUX_BATTERY = r"""
exec /bin/cat "$BOARD/etc/edgelab/battery.json"
"""

PHONE = {
    "system/bin/dumpsys": DUMPSYS,
    "system/bin/getprop": GETPROP,
    "bin/termux-battery-status": TERMUX_BATTERY,
}
"""The tools by their path in the tree."""
