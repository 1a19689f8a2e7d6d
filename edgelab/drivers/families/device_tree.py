"""What a board with a device tree calls itself."""

from __future__ import annotations

from edgelab.drivers.families.look import Look
from edgelab.drivers.readings.proc import read_tree_strings

MODEL = "/proc/device-tree/model"
COMPATIBLE = "/proc/device-tree/compatible"
DEVICE_TREE_FILES = (MODEL, COMPATIBLE)


def read_device_tree(look: Look) -> None:
    """Set `model` and `identity` from the device tree's root; its strings end in NUL."""
    model = next(iter(read_tree_strings(look.text(MODEL) or "")), None)
    compatible = read_tree_strings(look.text(COMPATIBLE) or "")
    names = (*((model,) if model else ()), *compatible)
    look.fields |= {"model": model, "identity": names}
    if names:
        look.cite("identity", MODEL if model else COMPATIBLE, ", ".join(names))
    else:
        look.unread("identity", MODEL)
