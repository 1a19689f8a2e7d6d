"""Adds a device to a lab file, which keeps its comments and its order."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from edgelab.errors import NotReadyError, UsageError
from edgelab.lab.device import Device
from edgelab.lab.lab_file import Entry, parse_lab

_ALWAYS = ("name", "profile", "host")


def with_device(text: str, entry: Entry, path: Path) -> str:
    """Return the text of a lab file with `entry` added at its end. Raises `UsageError` when that is no lab."""
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise UsageError(f"{path}: it is no TOML: {error}.") from error
    table = tomlkit.table()
    for key, value in msgspec.structs.asdict(entry).items():
        if key in _ALWAYS or value != getattr(_PLAIN, key):
            table.add(key, value)
    found = document.get("device")
    if found is None:
        found = tomlkit.aot()
        document.add("device", found)
    if not isinstance(found, AoT):
        raise UsageError(f"{path}: its devices are no [[device]] tables.", advice="Add the device by hand.")
    found.append(table)
    added = tomlkit.dumps(document)
    parse_lab(added, path)
    return added


_PLAIN = Entry(name="", profile="", host="")


def add_device(path: Path, entry: Entry) -> Device:
    """Add a device to the lab file `path`, which is made when absent; returns the device.

    Raises `UsageError` when the entry is wrong or its name taken, `NotReadyError` when nothing can be written.
    """
    try:
        text = path.read_text() if path.exists() else ""
        added = with_device(text, entry, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, added)
    except OSError as error:
        raise NotReadyError(f"The lab file {path} cannot be written: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: it is not UTF-8 text.") from error
    return next(device for device in parse_lab(added, path) if device.name == entry.name)


def _replace(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".lab-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
