"""`lab.toml`: the devices of a lab, validated; an error names the file, the line and the key."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from edgelab.drivers.profile import load_profile, profiles_folder
from edgelab.errors import UsageError
from edgelab.kernel.opencl import presence
from edgelab.lab.device import Device, Sudo

THIS_MACHINE = "local"
SIMULATED_HOST = "simulated"
"""As the host of a device: a board that EdgeLab itself plays."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_HEADER = re.compile(r"\s*\[\[\s*[\"']?device[\"']?\s*\]\]")
_ANY_HEADER = re.compile(r"\s*\[")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[device]]` table as written."""

    name: str
    profile: str
    host: str
    port: int | None = None
    user: str = ""
    key: str = ""
    known_hosts: str = ""
    jump: str = ""
    sudo: Sudo = "passwordless"
    root: str = ""
    notes: str = ""


KEYS = Entry.__struct_fields__


def read_lab_file(path: Path) -> tuple[Device, ...]:
    """Return the devices of a lab file, in its order. Raises `UsageError`."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"The lab file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: it is not UTF-8 text (byte {error.start}).") from error
    return parse_lab(text, path)


def parse_lab(text: str, path: Path) -> tuple[Device, ...]:
    """Return the devices that `text` names; `path` is for messages, and what its paths are relative to."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: it is no TOML: {error}.") from error
    except RecursionError as error:
        raise UsageError(f"{path}: its values are nested too deeply.") from error
    reading = _Reading(text, path)
    for key in content:
        if key != "device":
            raise reading.error(key, f"there is no key {key!r} here; devices are [[device]] tables")
    tables = content.get("device", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise reading.error("device", "devices are [[device]] tables")
    devices: dict[str, Device] = {}
    for number, table in enumerate(tables):
        device = reading.device(number, table)
        if device.name in devices:
            raise reading.error_in(number, "name", f"a device {device.name!r} is there already")
        devices[device.name] = device
    return tuple(devices.values())


class _Reading:
    """Checks the tables of one file, and knows where each key stands."""

    def __init__(self, text: str, path: Path) -> None:
        self._lines = text.splitlines()
        self._path = path
        self._headers = [number for number, line in enumerate(self._lines) if _HEADER.match(line)]

    def device(self, number: int, table: dict[str, Any]) -> Device:
        """Return the device of a table."""
        for key in table:
            if key not in KEYS:
                near = difflib.get_close_matches(key, KEYS, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(KEYS)}"
                raise self.error_in(number, key, f"there is no such key{hint}")
        for key in ("name", "profile", "host"):
            if key not in table:
                raise self.error_in(number, key, "it is missing")
        try:
            entry = msgspec.convert(table, type=Entry)
        except msgspec.ValidationError as error:
            key = re.search(r"`\$\.(\w+)", str(error))
            said = str(error).partition(" - at ")[0].lower()
            raise self.error_in(number, key[1] if key else "", said) from error
        self._check(number, entry)
        return device_of(entry, self._path.parent)

    def _check(self, number: int, entry: Entry) -> None:
        if not _NAME.fullmatch(entry.name):
            said = "letters, digits and - _ . only, at most 64, and a letter or digit first"
            raise self.error_in(number, "name", said)
        if entry.name == THIS_MACHINE:
            raise self.error_in(number, "name", f"{THIS_MACHINE!r} is this machine")
        if (
            not entry.host.strip()
            or any(c.isspace() or not c.isprintable() for c in entry.host)
            or entry.host[0] == "-"
        ):
            raise self.error_in(
                number, "host", "expected a host name, an address or an alias of ~/.ssh/config"
            )
        if entry.port is not None and not 1 <= entry.port <= 65535:
            raise self.error_in(number, "port", "expected an integer between 1 and 65535")
        names = profile_names()
        if entry.profile not in names:
            near = difflib.get_close_matches(entry.profile, names, n=3, cutoff=0.3) or names
            raise self.error_in(
                number, "profile", f"there is no profile {entry.profile!r}; nearest: {', '.join(near)}"
            )

    def error_in(self, number: int, key: str, said: str) -> UsageError:
        """Return the error of a key in the table `number` (from 0)."""
        if number >= len(self._headers):
            return self.error("device", said, key)
        begin = self._headers[number]
        line = begin
        for at in range(begin + 1, len(self._lines)):
            if _ANY_HEADER.match(self._lines[at]) and not re.match(
                r"\s*\[+\s*[\"']?device[\"']?\s*\.", self._lines[at]
            ):
                break
            if key and _stands(key, self._lines[at]):
                line = at
                break
        return self._error(line, key, said)

    def error(self, key: str, said: str, about: str = "") -> UsageError:
        """Return the error of a key outside the tables."""
        found = (at for at, line in enumerate(self._lines) if _stands(key, line) or _names(key, line))
        return self._error(next(found, 0), about or key, said)

    def _error(self, line: int, key: str, said: str) -> UsageError:
        where = f"{self._path} line {line + 1}"
        return UsageError(f"{where}: {key}: {said}." if key else f"{where}: {said}.")


def _stands(key: str, line: str) -> bool:
    """Whether a line sets `key`, also as `key.part` or in quotes."""
    return re.match(rf"\s*(device\.)?[\"']?{re.escape(key)}[\"']?\s*[.=]", line) is not None


def _names(key: str, line: str) -> bool:
    """Whether a line is the header of a table called `key`."""
    return re.match(rf"\s*\[+\s*[\"']?{re.escape(key)}[\"']?\s*[\].]", line) is not None


def profile_names() -> list[str]:
    """Return the names of all device profiles."""
    return sorted(path.stem for path in profiles_folder().glob("*.toml"))


def device_of(entry: Entry, folder: Path) -> Device:
    """Return the device of an entry; relative paths are relative to `folder`, where its file lies."""
    profile = load_profile(entry.profile)
    simulated = entry.host == SIMULATED_HOST
    return Device(
        name=entry.name,
        profile=entry.profile,
        backend=_simulated_backend(profile.backend) if simulated else profile.backend,
        title=profile.title,
        host="" if simulated else entry.host,
        port=entry.port,
        user=entry.user,
        key=_path(entry.key, folder),
        known_hosts=_path(entry.known_hosts, folder),
        jump=entry.jump,
        sudo=entry.sudo,
        root=entry.root,
        notes=entry.notes,
        simulated=simulated,
    )


def _simulated_backend(backend: str) -> str:
    """Kernels sent to a simulated board run on this machine's processor: by OpenCL where that is installed."""
    return "opencl" if backend == "opencl" and presence.missing() is None else "llvm"


def _path(text: str, folder: Path) -> str:
    return str(folder / Path(text).expanduser()) if text else ""
